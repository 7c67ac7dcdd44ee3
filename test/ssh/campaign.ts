// How long it takes from a revoke to what it is for, on a real node: a server process, the agent's one file, an sshd, and people who are
// logged in. `npm run campaign:ssh-revokes [-- --rounds 100]`. With `--sessions 2000 --accounts 50 --releases 10` beside a tenant of that weight,
// who also has homes removed all the while; `--ends` measures ends by time as well. `--box`: on a machine with systemd, which became a node as the guide says.
import { parseArgs } from 'node:util'
import { recordIfWanted } from '../../tools/evidence/records.ts'
import { boxNode, machineIn } from '../box/node.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { faultWorld } from '../faults/world.ts'
import { logIn, stayIn } from './client.ts'
import { heavyTenant, type Machine } from './heavy-tenant.ts'
import { nodePlace } from './node-place.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '100' },
    sessions: { type: 'string', default: '0' },
    accounts: { type: 'string', default: '50' },
    releases: { type: 'string', default: '0' },
    ends: { type: 'boolean', default: false },
    box: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
})
const weight = { sessions: Number(values.sessions), accounts: Number(values.accounts), releases: Number(values.releases) }
const is_heavy = weight.sessions > 0
const recording = recordIfWanted(is_heavy ? 'ssh-revokes-heavy' : 'ssh-revokes')
const rounds = Number(values.rounds)
const allowed_ms = 2000

/** The value below which this share of all lie. */
const share = (times: readonly number[], part: number): number =>
  Math.round([...times].sort((one, other) => one - other)[Math.min(times.length - 1, Math.ceil(times.length * part) - 1)]!)

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const place = await nodePlace(world)
const in_box = values.box ? await boxNode(place.call, { sku: 'revokes' }) : undefined
type Measured = 'key_gone' | 'session_ended' | 'login_refused' | 'time_over'
const measured: Record<Measured, number[]> = { key_gone: [], session_ended: [], login_refused: [], time_over: [] }
let [survived, faults] = [0, 0]
try {
  const node: Machine = in_box ? machineIn(in_box) : await place.node('revokes')
  const { sku, sshd } = node
  const [owner, member] = [await place.pair('asha'), await place.pair('axel')]
  const heavy = is_heavy ? await heavyTenant(place, node, weight) : undefined
  let { id, username } = await place.allocation('asha', sku, [owner])
  let staying = await stayIn(sshd, username, owner)
  for (let round = 1; round <= rounds; round += 1) {
    if (round % 50 === 0) {
      await staying.close()
      ;({ id, username } = await place.allocation('asha', sku, [owner]))
      staying = await stayIn(sshd, username, owner)
    }
    const grant = await place.grant('asha', id, 'axel', member)
    const session = await stayIn(sshd, username, member)
    const [began, left] = await new Promise<[number, Promise<number>]>((resolve) => {
      const ended = session.ended.then(() => performance.now())
      void place.revoke('asha', id, grant).then(() => resolve([performance.now(), ended]))
    })
    const applied = place.untilSync(id, grant, 'applied').then(() => performance.now())
    // Tried without a pause; what counts is when the first refusal has come, so the time of one attempt is in it.
    while ((await logIn(sshd, username, member, 'true')).code === 0);
    measured.login_refused.push(performance.now() - began)
    measured.session_ended.push((await left) - began)
    measured.key_gone.push((await applied) - began)
    if ((await logIn(sshd, username, member, 'true')).code === 0) faults += 1
    if (staying.isOpen()) survived += 1
    if (values.ends) {
      // So long that also a busy machine has let them in before.
      const end = Date.now() + 20_000
      await place.grant('asha', id, 'axel', member, { expires_at: new Date(end).toISOString() })
      const timed = await stayIn(sshd, username, member)
      await timed.ended
      measured.time_over.push(Date.now() - end)
    }
    heavy?.goOn()
    if (round % 5 === 0) console.log(`${round} revokes: ${JSON.stringify(measured.session_ended.slice(-5).map(Math.round))} ms`)
  }
  await staying.close()
  await heavy?.end()
} finally {
  await in_box?.stop()
  await place.stop()
  await world.stop()
  await postgres.stop()
}
console.log('\nfrom the answer to a revoke until            p50 ms   p99 ms   longest')
const rows = {
  session_ended: 'the session has ended',
  login_refused: 'a login is refused',
  key_gone: 'the API says that it is applied',
  time_over: 'from its end by time to the session’s',
} as const
for (const [name, what] of Object.entries(rows)) {
  const times = measured[name as keyof typeof rows]
  if (times.length === 0) continue
  const cells = [share(times, 0.5), share(times, 0.99), share(times, 1)].map((each) => `${each}`.padStart(9))
  console.log(`${what.padEnd(40)}${cells.join('')}`)
}
const late = [...measured.session_ended, ...measured.login_refused, ...measured.time_over].filter((each) => each > allowed_ms).length
console.log(
  `\n${rounds} revokes; later than ${allowed_ms} ms: ${late}; let in again: ${faults}; the owner’s session lived through ${survived}`,
)
const [ended, refused] = [share(measured.session_ended, 0.99), share(measured.login_refused, 0.99)]
const over = measured.time_over.length === 0 ? 0 : share(measured.time_over, 0.99)
const isKept = ended <= allowed_ms && over <= allowed_ms && refused <= allowed_ms && faults === 0 && survived === rounds
if (!isKept) process.exitCode = 1
recording.end({
  verdict: !isKept ? 'broken' : rounds < 100 ? 'short' : 'kept',
  figure: `${rounds} revokes: session ended p99 ${ended} ms, login refused p99 ${refused} ms${over === 0 ? '' : `, end by time p99 ${over} ms`}; ${faults} let in again, ${rounds - survived} other sessions ended`,
})
