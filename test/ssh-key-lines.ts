import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { wireNumber, wireTexts } from '../server/src/fleet/ssh-keys/wire.ts'

/** A line of a `.pub` file, made of what stands in the key after its type. */
export const keyLine = (type: string, fields: readonly Uint8Array[], comment = ''): string =>
  `${type} ${wireTexts([Buffer.from(type), ...fields]).toString('base64')}${comment && ` ${comment}`}`

const jwkOf = (key: Parameters<typeof createPublicKey>[0]) => createPublicKey(key).export({ format: 'jwk' })
const bytesOf = (base64url: unknown) => Buffer.from(base64url as string, 'base64url')
export const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

export const newEd25519Point = () => bytesOf(jwkOf(pemOf(generateKeyPairSync('ed25519').publicKey)).x)
export const newCurvePoint = (namedCurve: 'P-256' | 'P-384' | 'P-521'): Buffer => {
  const { x, y } = jwkOf(pemOf(generateKeyPairSync('ec', { namedCurve }).publicKey))
  return Buffer.concat([Buffer.of(4), bytesOf(x), bytesOf(y)])
}
const pemOf = (key: { export: (options: { type: 'spki'; format: 'pem' }) => string | Buffer }) =>
  key.export({ type: 'spki', format: 'pem' })

export const rsaFields = (exponent: bigint, modulus: bigint): Buffer[] => [wireNumber(exponent), wireNumber(modulus)]
const newRsaFields = (modulusLength: number): Buffer[] => {
  const { e, n } = jwkOf(pemOf(generateKeyPairSync('rsa', { modulusLength }).publicKey))
  return rsaFields(numberOf(bytesOf(e)), numberOf(bytesOf(n)))
}

const forSsh = Buffer.from('ssh:')
const ecdsa = (curve: string, named: 'P-256' | 'P-384' | 'P-521') => () => [Buffer.from(curve), newCurvePoint(named)]
/** What stands in a new key of each type. */
export const newFields: Readonly<Record<string, () => Buffer[]>> = {
  'ssh-ed25519': () => [newEd25519Point()],
  'ssh-rsa': () => newRsaFields(2048),
  'ecdsa-sha2-nistp256': ecdsa('nistp256', 'P-256'),
  'ecdsa-sha2-nistp384': ecdsa('nistp384', 'P-384'),
  'ecdsa-sha2-nistp521': ecdsa('nistp521', 'P-521'),
  'sk-ssh-ed25519@openssh.com': () => [newEd25519Point(), forSsh],
  'sk-ecdsa-sha2-nistp256@openssh.com': () => [Buffer.from('nistp256'), newCurvePoint('P-256'), forSsh],
}

/** A new key that nobody has the other half of; of a type that is quickly made, unless another is named. */
export const newKeyLine = (type = 'ssh-ed25519'): string =>
  keyLine(type, newFields[type]!(), `somebody@laptop-${randomBytes(3).toString('hex')}`)
