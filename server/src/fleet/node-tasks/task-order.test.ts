import { generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import type { ApplyOrder } from '@gatehouse/contract/apply-order'
import { type SignedTask, signedTextOf } from '@gatehouse/contract/node-tasks'
import { refusalOf } from '@gatehouse/contract/verify-task'
import { describe, expect, test } from 'vitest'
import { fixedId } from '#ground/kernel/ids.ts'
import { type Applied, performed } from '../../../../test/model-node.ts'

const node_id = fixedId('node', 'one')
const allocation_id = fixedId('allocation', 'one')
const account = { allocation_id, username: 'gh-abcdef' }
const now = Date.parse('2026-03-01T00:00:00.000Z')
const { publicKey, privateKey } = generateKeyPairSync('ed25519')

type Unsigned = Omit<SignedTask, 'kid' | 'signature'>
const signed = (task: Unsigned, key: KeyObject = privateKey): SignedTask => ({
  ...task,
  kid: 'k1',
  signature: sign(null, Buffer.from(signedTextOf(task)), key).toString('base64url'),
})

const keyOf = (name: string) => ({
  key_type: 'ssh-ed25519' as const,
  blob: `${name}AAAA`.padEnd(68, 'A'),
  fingerprint: `SHA256:${name.padEnd(43, 'A')}`,
  expires_at: null,
  holders: [{ grant_id: null, ssh_key_id: fixedId('ssh key', name), user_id: null, expires_at: null }],
})
const unsigned = (type: string, generation: number, params: object, expires_at = now + 3600_000): Unsigned => ({
  task_id: fixedId('node task', `${type} ${generation}`),
  node_id,
  type,
  params: { ...params },
  generation,
  expires_at: new Date(expires_at).toISOString(),
})
const install = (generation: number, ...names: string[]) =>
  signed(unsigned('allocation.install_authorized_keys', generation, { ...account, keys: names.map(keyOf), set_hash: names.join() }))

const judging = {
  node_id,
  now,
  skew_ms: 60_000,
  isSignedBy: (kid: string, text: string, signature: string) =>
    kid === 'k1' && verify(null, Buffer.from(text), publicKey, Buffer.from(signature, 'base64url')),
}

/** The order of the product, or a broken one. */
type OrderOf = (applied: number | undefined, generation: number) => ApplyOrder

/**
 * Every way in which these tasks can be delivered, each once to three times. Counts the ways in which something is wrong after a delivery:
 * the node holds less than the latest that it was given, or in the end not the last set of all.
 */
const wrongWays = (tasks: readonly SignedTask[], last: Omit<Applied, 'generation'>, orderOf?: OrderOf) => {
  const left = tasks.map(() => 3)
  const seen = tasks.map(() => 0)
  let ways = 0
  let wrong = 0
  const deliver = (before: Applied | undefined, latest: number, missing: number): void => {
    if (missing === 0) {
      ways += 1
      const { generation, ...held } = before!
      if (generation !== tasks.at(-1)!.generation || held.is_there !== last.is_there || held.keys.join() !== last.keys.join()) wrong += 1
    }
    for (let at = 0; at < tasks.length; at += 1) {
      if (left[at] === 0) continue
      left[at]! -= 1
      seen[at]! += 1
      const task = tasks[at]!
      const { after } = performed(before, task, orderOf)
      const newest = Math.max(latest, task.generation)
      if (after!.generation < newest) wrong += 1
      deliver(after, newest, missing - (seen[at] === 1 ? 1 : 0))
      left[at]! += 1
      seen[at]! -= 1
    }
  }
  deliver(undefined, 0, tasks.length)
  return { ways, wrong }
}

const account_of = { username: 'gh-abcdef', grant_ids: [] }
const sets = [install(1, 'one'), install(2, 'one', 'two'), install(3, 'two'), install(4, 'two', 'four')]
const life = [
  signed(unsigned('allocation.provision_user', 1, account)),
  install(2, 'one'),
  install(3, 'two'),
  signed(unsigned('allocation.deprovision_user', 4, account)),
]

describe('the order of what is applied', () => {
  test('SG-10 S6 four sets in every order, each delivered up to three times, end with the last one and never go back', () => {
    const held = { ...account_of, is_there: true, keys: [keyOf('two').fingerprint, keyOf('four').fingerprint] }
    const { ways, wrong } = wrongWays(sets, held)
    // All prefixes in which each was delivered at least once.
    expect(ways).toBeGreaterThan(1_000_000)
    expect(wrong).toBe(0)
  })

  test('SG-10 S6 an account that is gone stays gone, whatever arrives afterwards', () => {
    expect(wrongWays(life, { ...account_of, is_there: false, keys: [] }).wrong).toBe(0)
  })

  test('SG-10 S6 a node that applies whatever comes is found out', () => {
    const three = sets.slice(1)
    const held = { ...account_of, is_there: true, keys: [keyOf('two').fingerprint, keyOf('four').fingerprint] }
    expect(wrongWays(three, held).wrong).toBe(0)
    expect(wrongWays(three, held, () => 'apply').wrong).toBeGreaterThan(0)
    // One that forgets what it has applied when the account is gone.
    const forgetful: OrderOf = (applied, generation) =>
      applied === 4 || applied === undefined || generation >= applied ? 'apply' : 'older'
    expect(wrongWays(life.slice(1), { ...account_of, is_there: false, keys: [] }, forgetful).wrong).toBeGreaterThan(0)
  })

  test('SG-10 S6 a signed task of a month ago is refused, also by a node that has applied nothing yet', () => {
    const month_ago = unsigned(
      'allocation.install_authorized_keys',
      9,
      { ...account, keys: [keyOf('old')], set_hash: 'old' },
      now - 30 * 86_400_000,
    )
    expect(refusalOf(signed(month_ago), judging)).toBe('expired')
    expect(refusalOf(sets[0], judging)).toBeUndefined()
  })
})

describe('what a node refuses', () => {
  const good = install(7, 'one')

  test('SG-22 a task that says anything but what was signed', () => {
    expect(refusalOf(good, judging)).toBeUndefined()
    const tampered: Partial<SignedTask>[] = [
      { generation: 8 },
      { expires_at: new Date(now + 7200_000).toISOString() },
      { node_id: fixedId('node', 'two') },
      { task_id: fixedId('node task', 'another') },
      { type: 'allocation.deprovision_user' },
      { params: { ...good.params, keys: [keyOf('mine')] } },
      { params: { ...good.params, username: 'gh-another' } },
      { params: { ...good.params, extra: 1 } },
      { kid: 'k2' },
      { signature: good.signature.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A')) },
      { signature: '' },
    ]
    for (const change of tampered) expect(refusalOf({ ...good, ...change }, judging), JSON.stringify(change)).toBe('bad_signature')
    const forged = signed(unsigned('diag.health_probe', 0, {}), generateKeyPairSync('ed25519').privateKey)
    expect(refusalOf(forged, judging)).toBe('bad_signature')
  })

  test('SG-22 a task that is signed, but another’s, over, unknown or not of its type', () => {
    const of = (change: Partial<Unsigned>) => signed({ ...unsigned('diag.health_probe', 0, {}), ...change })
    expect(refusalOf(of({}), judging)).toBeUndefined()
    expect(refusalOf(of({ node_id: fixedId('node', 'two') }), judging)).toBe('other_node')
    expect(refusalOf(of({ expires_at: new Date(now - 60_000).toISOString() }), judging)).toBe('expired')
    // A clock may be a minute ahead.
    expect(refusalOf(of({ expires_at: new Date(now - 59_000).toISOString() }), judging)).toBeUndefined()
    expect(refusalOf(of({ type: 'shell.run', params: { command: 'id' } }), judging)).toBe('unknown_type')
    expect(refusalOf(of({ type: '__proto__' }), judging)).toBe('unknown_type')
    expect(refusalOf(of({ params: { command: 'id' } }), judging)).toBe('bad_params')
    for (const username of ['root', 'gh-../../etc', 'gh-abc\ndef', 'gh-ABCDEF', ''])
      expect(refusalOf(of({ type: 'allocation.provision_user', params: { allocation_id, username } }), judging)).toBe('bad_params')
  })

  test('SG-22 what is no task at all', () => {
    for (const nothing of [null, 'task', [], {}, { ...good, more: true }, { ...good, generation: 1.5 }, { ...good, generation: -1 }])
      expect(refusalOf(nothing, judging)).toBe('malformed')
  })
})
