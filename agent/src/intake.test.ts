import { createPublicKey, randomUUID } from 'node:crypto'
import { issueNodeCertificate, issueSignerCertificate } from '@gatehouse/server/fleet/nodes/issue-certificate'
import { describe, expect, test } from 'vitest'
import type { SignedTask, TaskResult, TaskSigner } from '../../contract/src/node-tasks.ts'
import { littleAuthority } from '../../test/agent/little-authority.ts'
import { memoryState } from '../../test/agent/memory-state.ts'
import { fixture } from '../../test/fixture.ts'
import { sweep } from '../../test/sweep.ts'
import { type AllocationBook, openAllocationBook } from './allocation-book.ts'
import type { Door } from './door.ts'
import type { Hands } from './hands.ts'
import { openIntake } from './intake.ts'
import { openLanes } from './lanes.ts'
import { openOutbox } from './outbox.ts'
import { openWearing } from './wearing.ts'

type Authority = Awaited<ReturnType<typeof littleAuthority>>
type Signer = Awaited<ReturnType<Authority['newSigner']>>
type Unsigned = Parameters<Signer['signed']>[0]

const node_id = '00000000-0000-7000-8000-0000000000aa'
const allocation_id = '00000000-0000-7000-8000-0000000000bb'
const authority = fixture(littleAuthority)
const signer = fixture(() => authority.newSigner())

const keyOf = (name: string) => ({
  key_type: 'ssh-ed25519',
  blob: 'A'.repeat(68),
  fingerprint: `SHA256:${name.repeat(43)}`,
  expires_at: null,
  holders: [{ grant_id: null, ssh_key_id: randomUUID(), user_id: null, expires_at: null }],
})
const install = (generation: number, names: string, more: Partial<Unsigned> = {}): Unsigned => ({
  task_id: randomUUID() as Unsigned['task_id'],
  node_id: node_id as Unsigned['node_id'],
  type: 'allocation.install_authorized_keys',
  params: { allocation_id, username: 'gh-abcdef', keys: [...names].map(keyOf), set_hash: `hash-${generation}` },
  generation,
  expires_at: new Date(Date.now() + 3600_000).toISOString(),
  ...more,
})

/** A node with nothing behind its door: what it is given is put in by hand, what it says is kept. */
const node = async (changed: (book: AllocationBook) => AllocationBook = (book) => book) => {
  const sets: string[] = []
  const said = new Map<string, TaskResult[]>()
  const door: Door = {
    ask: async ({ path, body }) => {
      const task_id = path.split('/').at(-2)!
      said.set(task_id, [...(said.get(task_id) ?? []), body as TaskResult])
      return { status: 200, body: {}, retry_after_seconds: undefined }
    },
    close: () => {},
  }
  const log = () => {}
  const now = () => new Date()
  const state = memoryState(await authority.identityOf(node_id))
  const wearing = await openWearing(state, { open: () => door, log })
  const outbox = await openOutbox({ state, wearing, log, now, wake: () => {} })
  const hands = {
    installKeys: async ({ keys }) => {
      sets.push(keys.map(({ fingerprint }) => fingerprint.at(-1)).join(''))
      return {}
    },
    probe: async () => ({}),
  } as Partial<Hands> as Hands
  const book = changed(await openAllocationBook(state, now()))
  const lanes = openLanes(now)
  const intake = openIntake({ wearing, book, outbox, lanes, hands, log, now, speaks: () => 2 })
  return {
    sets,
    said,
    refused: intake.refused,
    take: async (tasks: readonly unknown[], signers: readonly TaskSigner[] = [signer.listed]) => {
      await intake.take({ tasks, signers, renew_after: '' })
      while (lanes.isBusy(allocation_id)) await new Promise(setImmediate)
      await outbox.flush()
    },
  }
}

describe('what is not to be performed', () => {
  const tampered = (change: (task: SignedTask) => object) => () => {
    const task = signer.signed(install(1, 'a'))
    return { ...task, ...change(task) }
  }
  test.for<[string, string, () => unknown]>([
    ['whose generation was changed', 'bad_signature', tampered(() => ({ generation: 2 }))],
    ['whose keys were changed', 'bad_signature', tampered(() => ({ params: install(1, 'b').params }))],
    ['whose time was lengthened', 'bad_signature', tampered(() => ({ expires_at: '2099-01-01T00:00:00.000Z' }))],
    ['whose id was changed', 'bad_signature', tampered(() => ({ task_id: randomUUID() }))],
    ['of another type than was signed', 'bad_signature', tampered(() => ({ type: 'allocation.deprovision_user' }))],
    ['that is not signed', 'bad_signature', tampered(() => ({ signature: 'A'.repeat(86) }))],
    ['with an empty signature', 'bad_signature', tampered(() => ({ signature: '' }))],
    ['of an unknown signer', 'bad_signature', tampered(() => ({ kid: 'another' }))],
    [
      'made this node’s by hand',
      'bad_signature',
      () => ({ ...signer.signed(install(1, 'a', { node_id: randomUUID() as never })), node_id }),
    ],
    ['of another node', 'other_node', () => signer.signed(install(1, 'a', { node_id: randomUUID() as never }))],
    ['of a month ago', 'expired', () => signer.signed(install(1, 'a', { expires_at: new Date(Date.now() - 30 * 864e5).toISOString() }))],
    [
      'of a minute and more ago',
      'expired',
      () => signer.signed(install(1, 'a', { expires_at: new Date(Date.now() - 61_000).toISOString() })),
    ],
    ['that is no task', 'malformed', () => 'rm -rf /'],
    ['with a member more', 'malformed', tampered(() => ({ also: 1 }))],
  ])('SG-22 a task %s is refused as %s: nothing is done, nothing is said', async ([, reason, make]) => {
    const { take, sets, said, refused } = await node()
    await take([make()])
    expect(refused().last?.reason).toBe(reason)
    expect([sets, said.size]).toEqual([[], 0])
  })

  test.for<[string, string, Partial<Unsigned>]>([
    ['of a type that is not known', 'unknown_type', { type: 'shell.run' }],
    [
      'with a parameter too many',
      'bad_params',
      { params: { allocation_id, username: 'gh-abcdef', keys: [], set_hash: '', command: 'id' } },
    ],
    ['for root', 'bad_params', { params: { allocation_id, username: 'root', keys: [], set_hash: '' } }],
    ['for a path', 'bad_params', { params: { allocation_id, username: '../../root', keys: [], set_hash: '' } }],
    [
      'with a line break in a key',
      'bad_params',
      { params: { ...install(1, '').params, keys: [{ ...keyOf('a'), blob: `${'A'.repeat(68)}\nssh-rsa AAAA` }] } },
    ],
  ])('SG-22 a signed task %s is not done, and is answered with %s', async ([, reason, more]) => {
    const { take, sets, said } = await node()
    const task = signer.signed(install(1, 'a', more))
    await take([task])
    expect(sets).toEqual([])
    expect(said.get(task.task_id)).toEqual([{ outcome: 'failed', generation: 1, failure: reason, receipt_signature: expect.any(String) }])
  })

  test('SG-22 a minute is forgiven to a clock, and a task of a signer that is listed is done', async () => {
    const { take, sets, said, refused } = await node()
    const task = signer.signed(install(1, 'ab', { expires_at: new Date(Date.now() - 30_000).toISOString() }))
    await take([task])
    expect([sets, refused().count]).toEqual([['ab'], 0])
    expect(said.get(task.task_id)).toMatchObject([{ outcome: 'completed', generation: 1, receipt: { applied_generation: 1 } }])
  })

  test.for<[string, () => Promise<{ task: SignedTask; signers: TaskSigner[] }>]>([
    ['that is not listed', async () => ({ task: signer.signed(install(1, 'a')), signers: [] })],
    [
      'of another authority',
      async () => {
        const strange = await (await littleAuthority()).newSigner()
        return { task: strange.signed(install(1, 'a')), signers: [strange.listed] }
      },
    ],
    [
      'whose certificate is a node’s',
      async () => {
        const strange = await authority.newSigner(
          async (key, kid) => (await issueNodeCertificate(authority.authority, key, kid, new Date().toISOString())).pem,
        )
        return { task: strange.signed(install(1, 'a')), signers: [strange.listed] }
      },
    ],
    [
      'whose certificate is another signer’s',
      async () => {
        const strange = await authority.newSigner()
        return { task: strange.signed(install(1, 'a')), signers: [{ ...strange.listed, certificate: signer.listed.certificate }] }
      },
    ],
    [
      'under another name than its certificate’s',
      async () => {
        const strange = await authority.newSigner()
        const task = { ...strange.signed(install(1, 'a')), kid: 'another' }
        return { task, signers: [{ ...strange.listed, kid: 'another' }] }
      },
    ],
    [
      'whose certificate has ended',
      async () => {
        const strange = await authority.newSigner((key, kid) =>
          issueSignerCertificate(authority.authority, key, kid, '2020-01-01T00:00:00.000Z'),
        )
        return { task: strange.signed(install(1, 'a')), signers: [strange.listed] }
      },
    ],
    [
      'whose key is of another kind',
      async () => {
        const strange = await authority.newSigner(async (_, kid) => {
          const { key } = await authority.identityOf(node_id)
          return issueSignerCertificate(authority.authority, createPublicKey(key), kid, new Date().toISOString())
        })
        return { task: strange.signed(install(1, 'a')), signers: [strange.listed] }
      },
    ],
    [
      'whose certificate is none',
      async () => ({ task: signer.signed(install(1, 'a')), signers: [{ ...signer.listed, certificate: 'none' }] }),
    ],
  ])('SG-22 a signer %s is not believed', async ([, make]) => {
    const { take, sets, refused } = await node()
    const { task, signers } = await make()
    await take([task], signers)
    expect([sets, refused().last?.reason]).toEqual([[], 'bad_signature'])
  })
})

describe('order', () => {
  const permutations = <T>(items: readonly T[]): T[][] =>
    items.length === 0
      ? [[]]
      : items.flatMap((item, at) => permutations(items.filter((_, other) => other !== at)).map((rest) => [item, ...rest]))
  // The third takes b away again.
  const sets = ['a', 'ab', 'a', 'ac']
  const counts = [1, 2, 3].flatMap((first) => [1, 2, 3].map((second) => [first, second, 4 - first, 4 - second]))

  /** Faults in what a node did with these deliveries: what it ended with, and whether something older came after something newer. */
  const faultsOf = (
    tasks: readonly SignedTask[],
    deliveries: readonly SignedTask[],
    { sets: done, said }: Awaited<ReturnType<typeof node>>,
  ) => {
    const newest = Math.max(...deliveries.map(({ generation }) => generation))
    let applied = 0
    const faults: string[] = done.at(-1) === sets[newest - 1] ? [] : ['not the newest']
    const removed_at = done.indexOf(sets[2]!, done.indexOf('ab') + 1)
    if (removed_at >= 0 && done.indexOf('ab') >= 0 && done.slice(removed_at).includes('ab')) faults.push('a key came back')
    for (const { task_id, generation } of deliveries.filter((task, at) => deliveries.indexOf(task) === at)) {
      const outcomes = new Set(said.get(task_id)?.map(({ outcome }) => outcome))
      const expected = generation < applied ? 'superseded' : 'completed'
      if (outcomes.size !== 1 || !outcomes.has(expected)) faults.push(`${generation} was ${[...outcomes]}`)
      applied = Math.max(applied, generation)
    }
    return tasks.every(({ task_id }) => new Set(said.get(task_id)?.map((said) => JSON.stringify(said))).size === 1)
      ? faults
      : [...faults, 'said two things']
  }

  const allOrders = (tasks: readonly SignedTask[]) =>
    permutations(tasks).flatMap((order) =>
      counts.flatMap((times) => {
        const deliveries = order.flatMap((task, at) => Array.from({ length: times[at]! }, () => task))
        // Side by side, and gone round once more.
        return [deliveries, [...order, ...deliveries.toReversed(), ...order].slice(0, deliveries.length + order.length)]
      }),
    )

  test('SG-10 S6 whatever the order and however often, the newest set stays and nothing older comes after it', async () => {
    const tasks = sets.map((names, at) => signer.signed(install(at + 1, names)))
    const old = signer.signed(install(9, 'b', { expires_at: new Date(Date.now() - 30 * 864e5).toISOString() }))
    const orders = allOrders(tasks)
    expect(orders.length).toBeGreaterThan(400)
    for (const deliveries of sweep('orders of tasks', orders, 40)) {
      const one = await node()
      for (const task of deliveries) await one.take([task, old])
      expect(faultsOf(tasks, deliveries, one)).toEqual([])
    }
  })

  test('SG-10 S6 all of them in one answer come to the same', async () => {
    const tasks = sets.map((names, at) => signer.signed(install(at + 1, names)))
    for (const deliveries of permutations(tasks)) {
      const one = await node()
      await one.take([...deliveries, ...deliveries])
      expect(faultsOf(tasks, deliveries, one)).toEqual([])
    }
  })

  test('SG-10 S6 the judge finds a node that forgets what it has applied', async () => {
    const tasks = sets.map((names, at) => signer.signed(install(at + 1, names)))
    const forgetful = await node((book) => ({ ...book, get: () => undefined }))
    const deliveries = [tasks[3]!, tasks[2]!, tasks[1]!, tasks[0]!]
    for (const task of deliveries) await forgetful.take([task])
    expect(faultsOf(tasks, deliveries, forgetful)).toContain('not the newest')
  })
})
