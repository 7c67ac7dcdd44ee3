import { createPublicKey, type KeyObject, randomBytes, webcrypto } from 'node:crypto'
import { seal, unseal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import type { Database } from '#ground/db/database.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Secret } from '#ground/kernel/secret.ts'
import { systemWork } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { type AuthorityRow, activeAuthority, insertAuthority, lockAuthority } from './authority-queries.ts'
import { x509 } from './x509.ts'

/** What vouches for nodes, for the door that they come to, and for the keys that tasks are signed with. */
export interface Authority {
  readonly id: string
  readonly certificate_pem: string
  readonly certificate_der: Buffer
  readonly name: string
  readonly public_key: KeyObject
  /** Signs and cannot be taken out of the process's memory by our own code. */
  readonly signing_key: webcrypto.CryptoKey
}

/** Ties the envelope to its row. */
const boundOf = (id: string) => `node_authorities.envelope ${id}`

/** The column of the sealed private key, for whoever seals everything anew. */
export const authorityEnvelopes = { table: 'node_authorities', id: 'id', column: 'envelope', boundOf } as const

const lifetime_ms = 3650 * 24 * 3600 * 1000
const curve = { name: 'ECDSA', namedCurve: 'P-256' }
export const signing = { name: 'ECDSA', hash: 'SHA-256' }
const name = 'Gatehouse node authority'

/** 127 bits of chance, and never a negative number. */
export const newSerial = (): string => {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}

const makeAuthority = async (ring: KeyRing, now: string) => {
  const id = newId('node authority')
  const keys = await webcrypto.subtle.generateKey(curve, true, ['sign', 'verify'])
  const ends_at = new Date(Date.parse(now) + lifetime_ms).toISOString()
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: newSerial(),
    name: [{ CN: [name] }, { OU: [id] }],
    // A clock that is behind ours must not find it too new.
    notBefore: new Date(Date.parse(now) - 3600 * 1000),
    notAfter: new Date(ends_at),
    keys,
    signingAlgorithm: signing,
    extensions: [
      // It vouches for others, and none of these for anybody.
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64url')
  return { id, certificate: made.toString('pem'), envelope: seal(ring, new Secret(pkcs8), boundOf(id)), ends_at }
}

const opened = async (ring: KeyRing, { id, certificate, envelope }: AuthorityRow): Promise<Authority> => {
  const parsed = new x509.X509Certificate(certificate)
  const pkcs8 = Buffer.from(unseal(ring, envelope, boundOf(id)).reveal(), 'base64url')
  return {
    id,
    certificate_pem: certificate,
    certificate_der: Buffer.from(parsed.rawData),
    name: parsed.subject,
    public_key: createPublicKey({ key: Buffer.from(parsed.publicKey.rawData), format: 'der', type: 'spki' }),
    signing_key: await webcrypto.subtle.importKey('pkcs8', pkcs8, curve, false, ['sign']),
  }
}

/** The authority, made at the first start; of processes that start together the first one makes it. */
export const ensureAuthority = async (database: Database, ring: KeyRing, append: Append): Promise<Authority> => {
  const known = await database.reader.maybe(activeAuthority())
  if (known) return opened(ring, known)
  const row = await database.transaction('write', async (tx) => {
    await tx.one(lockAuthority())
    const before = await tx.maybe(activeAuthority())
    if (before) return before
    const inserted = await tx.one(insertAuthority(await makeAuthority(ring, tx.now), tx.now))
    const work = systemWork(tx, 'node_tending', newId('correlation'))
    record(work, {
      action: 'node.authority.create',
      resource_type: 'node_authority',
      resource_id: inserted.id,
      severity: 'high',
      metadata: { ends_at: inserted.ends_at },
    })
    await append(work)
    return inserted
  })
  return opened(ring, row)
}
