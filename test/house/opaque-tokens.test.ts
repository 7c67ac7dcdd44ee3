import { existsSync } from 'node:fs'
import { operations } from '@gatehouse/contract/operations'
import { openApiDocument } from '@gatehouse/server/rails/http/openapi'
import { actorClasses } from '@gatehouse/server/rooms'
import { expect, test } from 'vitest'
import { filesUnder, isTest, matchesOf } from './tree.ts'

/** What is on the side of whoever holds a token. The provider of development and the server are not: they make and verify them. */
const holders = ['contract', 'tools', 'examples', 'console', 'cli', 'client'].filter((folder) => existsSync(folder))
const code = holders.flatMap((folder) => filesUnder(folder).filter((path) => /\.(?:[cm]?[jt]sx?|vue|svelte)$/.test(path) && !isTest(path)))

/** By a library, or by hand: the middle part of three. */
const decoding =
  /\b(?:decodeJwt|jwtDecode|jwt_decode|decodeProtectedHeader|jwtVerify|parseJwt|atob)\b|['"](?:jose|jwt-decode|jsonwebtoken)['"]|Buffer\.from\([^)]*['"]base64(?:url)?['"]\)|\.split\(['"]\.['"]\)\s*\[\s*1|(?:token|jwt)\w*\.split\(/i

test('TI-24 no code of those who hold tokens reads one', () => {
  expect(code.length).toBeGreaterThan(20)
  expect(matchesOf(code, decoding)).toEqual([])
})

test.for([
  `const { exp } = decodeJwt(token)`,
  `import { decodeJwt } from 'jose'`,
  `const claims = JSON.parse(atob(token.split('.')[1]))`,
  `JSON.parse(Buffer.from(part, 'base64url').toString())`,
  `const [, payload] = accessToken.split('.')`,
])('TI-24 the search finds %s', (line) => {
  expect(decoding.test(line)).toBe(true)
})

test.for([`const major = version.split('.')[0]`, `randomBytes(32).toString('base64url')`, `headers.authorization = token`])(
  'TI-24 the search lets %s pass',
  (line) => {
    expect(decoding.test(line)).toBe(false)
  },
)

test('TI-24 the OpenAPI document says which claims a resource server may rely on', () => {
  const document = JSON.stringify(openApiDocument(operations, actorClasses))
  const told = /A JWT of the type `at\+jwt`.*?an opaque text\./.exec(document)?.[0] ?? ''
  for (const claim of ['iss', 'aud', 'sub', 'client_id', 'actor_type', 'org_id', 'project_id', 'scope', 'iat', 'exp', 'jti'])
    expect(told).toContain(`\`${claim}\``)
})
