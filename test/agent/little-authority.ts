import { createPublicKey, generateKeyPairSync, randomUUID, sign, webcrypto } from 'node:crypto'
import type { IdentityFile } from '../../agent/src/identity.ts'
import { newKey } from '../../agent/src/signing-request.ts'
import { type SignedTask, signedTextOf, type TaskSigner } from '../../contract/src/node-tasks.ts'
import type { Authority } from '../../server/src/fleet/nodes/authority.ts'
import { issueNodeCertificate, issueSignerCertificate } from '../../server/src/fleet/nodes/issue-certificate.ts'
import { x509 } from '../../server/src/fleet/nodes/x509.ts'

type Unsigned = Omit<SignedTask, 'kid' | 'signature'>

/** Vouches for nodes and signers as the control plane does, without one. */
export const littleAuthority = async () => {
  const keys = (await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: '4001',
    name: 'CN=Gatehouse node authority',
    notBefore: new Date(Date.now() - 3600_000),
    notAfter: new Date(Date.now() + 3600_000 * 24 * 365 * 10),
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: [new x509.BasicConstraintsExtension(true, 0, true), await x509.SubjectKeyIdentifierExtension.create(keys.publicKey)],
  })
  const authority: Authority = {
    id: randomUUID(),
    certificate_pem: made.toString('pem'),
    certificate_der: Buffer.from(made.rawData),
    name: made.subject,
    public_key: createPublicKey({ key: Buffer.from(made.publicKey.rawData), format: 'der', type: 'spki' }),
    signing_key: keys.privateKey,
  }
  const now = new Date().toISOString()

  const identityOf = async (node_id: string): Promise<IdentityFile> => {
    const key = newKey()
    const { pem, expires_at } = await issueNodeCertificate(authority, createPublicKey(key), node_id, now)
    const file = { node_id, url: 'https://127.0.0.1:1', authority: authority.certificate_pem, expires_at, renew_after: expires_at }
    return { ...file, key: key.export({ type: 'pkcs8', format: 'pem' }) as string, certificate: pem, former_key_thumbprint: null }
  }

  /** A key that signs tasks; its certificate is of this authority, unless another one is given. */
  const newSigner = async (
    certify = (key: ReturnType<typeof createPublicKey>, kid: string) => issueSignerCertificate(authority, key, kid, now),
  ) => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const kid = `kid-${randomUUID()}`
    const listed: TaskSigner = { kid, version: 1, state: 'active', certificate: await certify(publicKey, kid) }
    const signed = (task: Unsigned): SignedTask => ({
      ...task,
      kid,
      signature: sign(null, Buffer.from(signedTextOf(task)), privateKey).toString('base64url'),
    })
    return { kid, listed, signed }
  }

  return { authority, identityOf, newSigner }
}
