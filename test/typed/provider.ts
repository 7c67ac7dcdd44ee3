import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** A provider that publishes what Keycloak 26 does, and leaves an access token of two people in the folder. Run by `production-place.sh`. */
const folder = process.argv[2]!
const issuer = 'https://sso.example.com/realms/gpu'
const { privateKey, publicKey } = await generateKeyPair('RS256')
const key = { ...(await exportJWK(publicKey)), kid: 'first', alg: 'RS256', use: 'sig' }
const documents: Readonly<Record<string, object>> = {
  '/realms/gpu/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/protocol/openid-connect/certs` },
  '/realms/gpu/protocol/openid-connect/certs': { keys: [key] },
}
const [cert, secret] = ['site.crt', 'site.key'].map((name) => readFileSync(join(folder, name)))
createServer({ cert, key: secret }, ({ url }, reply) => {
  const found = documents[url ?? '']
  reply.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
}).listen(443, '127.0.0.1')

for (const name of ['superadmin', 'owner']) {
  const claims = { typ: 'Bearer', azp: 'cli', preferred_username: name, email: `${name}@example.com`, email_verified: true }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'first' })
    .setIssuer(issuer)
    .setAudience('gatehouse-api')
    .setSubject(`subject-of-${name}`)
    .setJti(name)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)
  const path = join(folder, `${name}.token`)
  writeFileSync(`${path}.new`, `${token}\n`)
  renameSync(`${path}.new`, path)
}
