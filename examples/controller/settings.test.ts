import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { settingsIn } from './settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'controller-settings-'))
afterAll(() => rmSync(folder, { recursive: true }))

const id = '01a1df61-26a4-7000-8000-000000000001'
const secret = 'canary-4f1e'
const good = {
  CONTROLLER_URL: 'https://gatehouse.example',
  CONTROLLER_ORG_ID: id,
  CONTROLLER_SHARED_RUNTIME_ID: id,
  CONTROLLER_KEY_ID: id,
  CONTROLLER_CLIENT_SECRET: secret,
}

test('the environment says all there is to say', async () => {
  const settings = settingsIn({ ...good, CONTROLLER_PERIOD_SECONDS: '0.5', CONTROLLER_TOKEN_TTL_SECONDS: '60' })
  expect(settings).toMatchObject({ period_ms: 500, token_ttl_seconds: 60, wanted: undefined })
  expect(await settings.credential()).toEqual({ key_id: id, client_secret: secret })
})

test.for([
  ['CONTROLLER_URL', ''],
  ['CONTROLLER_URL', 'http://gatehouse.example'],
  ['CONTROLLER_URL', `${secret}`],
  ['CONTROLLER_ORG_ID', `../${secret}`],
  ['CONTROLLER_KEY_ID', secret],
  ['CONTROLLER_CLIENT_SECRET', ''],
  ['CONTROLLER_PERIOD_SECONDS', '-1'],
  ['CONTROLLER_PERIOD_SECONDS', 'soon'],
  ['CONTROLLER_TOKEN_TTL_SECONDS', '1.5'],
] as const)('%s cannot be %s, and is not repeated', ([name, value]) => {
  const read = () => settingsIn({ ...good, [name]: value })
  expect(read).toThrow(new RegExp(`^${name} `))
  expect(read).not.toThrow(secret)
})

test('a secret that is wanted needs a file to go into', () => {
  expect(() => settingsIn({ ...good, CONTROLLER_SECRET_NAME: 'registry' })).toThrow('CONTROLLER_SECRET_FILE is missing')
})

test('a credential in a file is read each time, by its owner alone, and is not repeated when it is broken', async () => {
  const file = join(folder, 'credential.json')
  const write = (text: string) => writeFileSync(file, text, { mode: 0o600 })
  const { credential } = settingsIn({ ...good, CONTROLLER_CREDENTIAL_FILE: file })
  await expect(credential()).rejects.toThrow('cannot be read')
  write(JSON.stringify({ key_id: id, client_secret: 'first', state: 'active' }))
  expect(await credential()).toEqual({ key_id: id, client_secret: 'first' })
  write(JSON.stringify({ key_id: id, client_secret: 'second' }))
  expect(await credential()).toEqual({ key_id: id, client_secret: 'second' })
  write(secret)
  const error = await credential().catch((thrown: Error) => thrown)
  expect(String(error)).toContain('holds no key_id')
  expect(String((error as Error).stack)).not.toContain(secret)
  chmodSync(file, 0o640)
  await expect(credential()).rejects.toThrow('can be read by others')
})
