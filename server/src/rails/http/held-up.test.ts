import { expect, test } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { heldUpTenants, type LockWait, lockWaits } from './held-up.ts'

const lockTimeout = () => Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })

/** Tenants whose locks are held until they are let go; says how many try at a time, and how long they are willing to wait. */
const world = (wait_ms = 60_000) => {
  const within = heldUpTenants(2, wait_ms)
  const held = new Set<string>()
  const trying = new Map<string, number>()
  const waits: number[] = []
  let most = 0
  const all = () => [...trying.values()].reduce((sum, each) => sum + each, 0)
  const attempt = (tenant: string) => async (lockWait: LockWait) => {
    const wait_ms = lockWait()
    waits.push(wait_ms)
    trying.set(tenant, (trying.get(tenant) ?? 0) + 1)
    most = Math.max(most, all())
    try {
      await new Promise((resolve) => setImmediate(resolve))
      if (held.has(tenant)) throw new Problem('dependency_unavailable', undefined, lockTimeout())
      return tenant
    } finally {
      trying.set(tenant, trying.get(tenant)! - 1)
    }
  }
  const since = () => {
    most = 0
  }
  return { held, trying, waits, ask: (tenant: string) => within(tenant, attempt(tenant)), most: () => most, since }
}

test('HO-11 locks: many tenants are held up → two try at a time, one of each tenant, and nobody else waits with them', async () => {
  const { held, ask, most, since, waits } = world()
  const tenants = Array.from({ length: 6 }, (_, n) => `t${n}`)
  for (const tenant of tenants) held.add(tenant)
  const first = tenants.map((tenant) => ask(tenant))
  await expect.poll(() => waits.includes(lockWaits.again_ms)).toBe(true)
  since()
  const more = tenants.flatMap((tenant) => Array.from({ length: 9 }, () => ask(tenant)))
  const before = waits.length
  await expect.poll(() => waits.length).toBeGreaterThan(before + 20)
  expect(most()).toBeLessThanOrEqual(2)
  expect(await ask('free')).toBe('free')
  held.clear()
  expect(await Promise.all([...first, ...more])).toHaveLength(60)
  since()
  expect(await ask('t0')).toBe('t0')
  expect(waits.at(-1)).toBe(lockWaits.first_ms)
})

test('HO-11 locks: one that waited for a connection while those before it met the lock → does not try it by itself', async () => {
  const within = heldUpTenants(2, 60_000)
  let [tried, is_held] = [0, true]
  const connection = Promise.withResolvers<void>()
  const meets = within('t', async (lockWait) => {
    tried += 1
    lockWait()
    await new Promise((resolve) => setImmediate(resolve))
    if (is_held) throw lockTimeout()
  })
  let entered = 0
  const queued = within('t', async (lockWait) => {
    await connection.promise
    lockWait()
    entered += 1
  })
  await expect.poll(() => tried).toBeGreaterThan(1)
  connection.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  is_held = false
  await Promise.all([meets, queued])
  expect(entered).toBe(1)
})

test('HO-11 locks: not given in time → refused; what is no lock is thrown as it is', async () => {
  const { held, ask } = world(30)
  held.add('t')
  await expect(ask('t')).rejects.toMatchObject({ code: 'dependency_unavailable' })
  const within = heldUpTenants(2, 60_000)
  await expect(
    within('t', async () => Promise.reject(new Problem('idempotency_in_progress', undefined, lockTimeout()))),
  ).rejects.toMatchObject({
    code: 'idempotency_in_progress',
  })
})

test('HO-11 locks: one that had a connection only after its time, while others meet the lock → refused as late, not as a fault of ours', async () => {
  const within = heldUpTenants(2, 20)
  const connection = Promise.withResolvers<void>()
  let is_over = false
  const late = within('t', async (lockWait) => {
    await connection.promise
    lockWait()
  })
  // Somebody meets the lock after the time of the first has passed.
  const refused = expect(late).rejects.toMatchObject({ code: 'dependency_unavailable' })
  const over = performance.now() + 25
  await expect.poll(() => performance.now() > over).toBe(true)
  const met = Promise.withResolvers<void>()
  const meets = within('t', async (lockWait) => {
    lockWait()
    if (is_over) return
    met.resolve()
    throw lockTimeout()
  }).catch(() => {})
  await met.promise
  await new Promise((resolve) => setImmediate(resolve))
  connection.resolve()
  await refused
  is_over = true
  await meets
})

test('HO-11 locks: refused because its time passed while it waited to try again → it is never done afterwards', async () => {
  const within = heldUpTenants(2, 50)
  let [is_held, done] = [true, 0]
  const first = Promise.withResolvers<void>()
  const let_go = Promise.withResolvers<void>()
  const before = within('t', async (lockWait) => {
    lockWait()
    first.resolve()
    if (is_held) throw lockTimeout()
    // The one before it keeps its place in the order for longer than the other may wait.
    await let_go.promise
  })
  await first.promise
  is_held = false
  await new Promise((resolve) => setImmediate(resolve))
  const refused = within('t', async () => {
    done += 1
  })
  await expect(refused).rejects.toMatchObject({ code: 'dependency_unavailable' })
  let_go.resolve()
  await before
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBe(0)
})

test('HO-11 locks: two tenants wait for connections of their own before they try again → a third is not kept from trying', async () => {
  const within = heldUpTenants(2, 60_000)
  const connections = Promise.withResolvers<void>()
  const is_held = new Set(['a', 'b', 'c'])
  const waits_for_connection = new Set<string>()
  const ask = (tenant: string) => {
    let tries = 0
    return within(tenant, async (lockWait) => {
      tries += 1
      if (tries > 1 && tenant !== 'c') {
        waits_for_connection.add(tenant)
        await connections.promise
      }
      lockWait()
      await new Promise((resolve) => setImmediate(resolve))
      if (is_held.has(tenant)) throw lockTimeout()
      return tenant
    })
  }
  const others = [ask('a'), ask('b')]
  await expect.poll(() => waits_for_connection.size).toBe(2)
  const third = ask('c')
  await new Promise((resolve) => setImmediate(resolve))
  is_held.clear()
  expect(await third).toBe('c')
  connections.resolve()
  expect(await Promise.all(others)).toEqual(['a', 'b'])
})

test('HO-11 locks: a tenant has many that try again and again → another one comes to its tries, too', async () => {
  const within = heldUpTenants(1, 60_000)
  const tries = { noisy: 0, quiet: 0 }
  let is_held = true
  const ask = (tenant: keyof typeof tries) =>
    within(tenant, async (lockWait) => {
      lockWait()
      tries[tenant] += 1
      await new Promise((resolve) => setImmediate(resolve))
      if (is_held) throw lockTimeout()
    })
  const noisy = Array.from({ length: 10 }, () => ask('noisy'))
  await expect.poll(() => tries.noisy).toBeGreaterThan(20)
  const quiet = ask('quiet')
  await expect.poll(() => tries.quiet).toBeGreaterThan(20)
  is_held = false
  await Promise.all([...noisy, quiet])
})
