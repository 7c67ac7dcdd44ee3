// Whether the time of an answer tells a stranger that a project exists: `npm run bench -- strangers`. A two-sample Kolmogorov-Smirnov test of the
// answer times for a foreign project and for absent ones, asked alternately.
import { decide } from '@gatehouse/contract/decisions'
import { localIssuer, signText } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { median, table } from './decide/measure.ts'
import { openWorld, peoplePerTenant, projectId, subjectOf } from './decide/world.ts'
import { startOurs } from './servers.ts'

const [warm_up, samples] = [300, 2000]

/** The largest distance between the two empirical distributions. */
const distance = (one: readonly number[], other: readonly number[]): number => {
  const all = [...one.map((value) => ({ value, step: 1 / one.length })), ...other.map((value) => ({ value, step: -1 / other.length }))]
  let [at, largest] = [0, 0]
  for (const { step } of all.sort((a, b) => a.value - b.value)) {
    at += step
    largest = Math.max(largest, Math.abs(at))
  }
  return largest
}

const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
try {
  await world.growTo(4 * peoplePerTenant)
  await world.sql(`update policy_values set value = '10000000' where key like 'rate_limit.%' and replaced_at is null`)
  const server = await startOurs(world, issuer)
  try {
    const now = Math.floor(Date.now() / 1000)
    const claims = issuer.claims(now, { sub: subjectOf(10), exp: now + 3600, preferred_username: subjectOf(10) })
    const headers = { authorization: `Bearer ${await signText(issuer.key, JSON.stringify(claims))}`, 'content-type': 'application/json' }
    // The last project lies in another tenant than the caller.
    const foreign = projectId(19)
    const timed = async (id: string): Promise<number> => {
      const body = JSON.stringify({ action: 'project.read', resource: { type: 'project', id } })
      const began = performance.now()
      await (await fetch(`${server.url}${decide.path}`, { method: 'POST', headers, body })).text()
      return performance.now() - began
    }
    const times = { foreign: [] as number[], absent: [] as number[], control: [] as number[] }
    for (let n = -warm_up; n < samples; n += 1) {
      // Two kinds of absent ones: how far they are apart is what chance alone does. None of the three always follows the same one.
      const names = ['foreign', 'absent', 'control'] as const
      for (let k = 0; k < names.length; k += 1) {
        const name = names[(k + Math.abs(n)) % names.length]!
        const took = await timed(name === 'foreign' ? foreign : newId('project'))
        if (n >= 0) times[name].push(took)
      }
    }
    // The critical distance at a level of 0.1 %.
    const critical = 1.95 * Math.sqrt(2 / samples)
    const found = distance(times.foreign, times.absent)
    const chance = distance(times.control, times.absent)
    const rows = Object.entries(times).map(([name, all]) => [name, median(all).toFixed(3)])
    console.log(`\n${table(['project', 'p50 ms'], rows)}\n`)
    console.log(`KS distance ${found.toFixed(3)} (between two absent ones ${chance.toFixed(3)}), critical at 0.1 %: ${critical.toFixed(3)}`)
    const is_kept = found <= critical
    console.log(`${is_kept ? 'kept  ' : 'broken'}  the time of an answer does not tell a foreign project from an absent one`)
    if (!is_kept) process.exitCode = 1
  } finally {
    await server.stop()
  }
} finally {
  await world.stop()
  await issuer.stop()
}
