import { createHash, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { signerPurpose } from '@gatehouse/contract/node-tasks'
import { type Authority, newSerial, signing } from './authority.ts'
import { x509 } from './x509.ts'

/** Of what is vouched for. A clock that is a little behind ours must not find it too new. */
const early_ms = 5 * 60 * 1000
const hour_ms = 3600 * 1000

export interface Issued {
  readonly pem: string
  readonly serial: string
  /** SHA-256 of the whole certificate, in hexadecimal. */
  readonly thumbprint: string
  readonly expires_at: string
}

interface Vouching {
  readonly name: string
  readonly public_key: KeyObject
  readonly purpose: string
  readonly names?: readonly { readonly type: 'dns' | 'ip' | 'url'; readonly value: string }[]
  readonly hours: number
  readonly now: string
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
export const spkiOf = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' })

const issue = async (authority: Authority, { name, public_key, purpose, names, hours, now }: Vouching): Promise<Issued> => {
  const serial = newSerial()
  const expires = new Date(Date.parse(now) + hours * hour_ms)
  // A certificate knows whole seconds.
  expires.setUTCMilliseconds(0)
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: serial,
    issuer: authority.name,
    subject: [{ CN: [name] }],
    notBefore: new Date(Date.parse(now) - early_ms),
    notAfter: expires,
    publicKey: new x509.PublicKey(spkiOf(public_key)),
    signingKey: authority.signing_key,
    signingAlgorithm: signing,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      // Said to be critical: who does not know a purpose must not take it for another.
      new x509.ExtendedKeyUsageExtension([purpose], true),
      ...(names ? [new x509.SubjectAlternativeNameExtension([...names])] : []),
      await x509.AuthorityKeyIdentifierExtension.create(new x509.PublicKey(spkiOf(authority.public_key))),
    ],
  })
  const der = Buffer.from(made.rawData)
  return { pem: made.toString('pem'), serial, thumbprint: sha256Of(der), expires_at: expires.toISOString() }
}

/** How a certificate names its node, beside its common name. */
const nodeUri = (node_id: string): string => `gatehouse:node:${node_id}`

const certificate_hours = 24

export const issueNodeCertificate = (authority: Authority, public_key: KeyObject, node_id: string, now: string): Promise<Issued> =>
  issue(authority, {
    name: node_id,
    public_key,
    purpose: x509.ExtendedKeyUsage.clientAuth,
    names: [{ type: 'url', value: nodeUri(node_id) }],
    hours: certificate_hours,
    now,
  })

export const issueDoorCertificate = (
  authority: Authority,
  public_key: KeyObject,
  hosts: readonly string[],
  hours: number,
  now: string,
): Promise<Issued> =>
  issue(authority, {
    name: hosts[0]!,
    public_key,
    purpose: x509.ExtendedKeyUsage.serverAuth,
    names: hosts.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })),
    hours,
    now,
  })

/** Longer than any version of it lives: its states end it, not its time. */
const signer_hours = 2 * 365 * 24

/** Of a key that signs tasks: the agent follows it to the authority that it has pinned. */
export const issueSignerCertificate = async (authority: Authority, public_key: KeyObject, kid: string, now: string): Promise<string> =>
  (await issue(authority, { name: kid, public_key, purpose: signerPurpose, hours: signer_hours, now })).pem
