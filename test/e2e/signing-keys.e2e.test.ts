import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { transitContract } from '../../server/src/machines/keys/testing/transit-contract.ts'
import { type LocalIssuer, localIssuer } from '../../server/src/people/principals/oidc/testing/local-issuer.ts'
import { realServer } from '../canaries/real-server.ts'
import { testKeys } from '../live-server.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'

let folder: string
let clone: ClonedDatabase
let issuer: LocalIssuer
let engine: Awaited<ReturnType<typeof transitContract>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  clone = await cloneDatabase()
  issuer = await localIssuer()
  engine = await transitContract('ES256')
  writeFileSync(join(folder, 'token'), engine.token)
})
afterAll(async () => {
  await engine.stop()
  await issuer.stop()
  await clone.drop()
  rmSync(folder, { recursive: true })
})

/** Starts the product by its own main file, looks at the public keys, and stops it. */
const run = async (more: Record<string, string>) => {
  const server = await realServer({
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_LOG_LEVEL: 'trace',
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([issuer.settings]),
    GATEHOUSE_KEY_ENCRYPTION_KEYS: testKeys,
    GATEHOUSE_CHECKPOINT_FILE: join(folder, 'checkpoints.jsonl'),
    DATABASE_URL: clone.appUrl,
    ...more,
  })
  const { keys } = (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }
  await server.stop()
  expect(server.spoken().toString()).not.toContain(engine.token)
  return { kids: keys.map(({ kid }) => kid).sort(), spoken: server.spoken().toString() }
}
const transit = () => ({ GATEHOUSE_TRANSIT_URL: engine.url, GATEHOUSE_TRANSIT_TOKEN_FILE: join(folder, 'token') })

test('TI-14 a server whose transit engine is sealed starts without keys, makes them when it is not, and finds them again', async () => {
  engine.breaks('sealed')
  const without = await run(transit())
  expect(without.kids).toEqual([])
  expect(without.spoken).toContain('tending the signing keys failed')
  engine.breaks(undefined)
  const first = await run(transit())
  expect(first.kids).toHaveLength(2)
  expect((await run(transit())).kids).toEqual(first.kids)
  // Kept here again: the key that signs stays until it is rotated, the next one is replaced.
  const here = await run({})
  expect(here.kids).toHaveLength(2)
  expect(here.kids.filter((kid) => first.kids.includes(kid))).toHaveLength(1)
  expect(engine.undocumented).toEqual([])
})
