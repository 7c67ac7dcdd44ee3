// How long it takes from a revoke to what it is for, on a real node: a server process, the agent's one file, an sshd, and people who are
// logged in. `npm run campaign:ssh-revokes [-- --rounds 100]`.
import { parseArgs } from 'node:util'
import { recordIfWanted } from '../../tools/evidence/records.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { faultWorld } from '../faults/world.ts'
import { logIn, stayIn } from './client.ts'
import { nodePlace } from './node-place.ts'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' }, record: { type: 'boolean', default: false } } })
const recording = recordIfWanted('ssh-revokes')
const rounds = Number(values.rounds)
const allowed_ms = 2000

/** The value below which this share of all lie. */
const share = (times: readonly number[], part: number): number =>
  Math.round([...times].sort((one, other) => one - other)[Math.min(times.length - 1, Math.ceil(times.length * part) - 1)]!)

const postgres = await ownPostgres()
const world = await faultWorld(postgres, { people: 0 })
const place = await nodePlace(world)
const measured: Record<'key_gone' | 'session_ended' | 'login_refused', number[]> = { key_gone: [], session_ended: [], login_refused: [] }
let [survived, faults] = [0, 0]
try {
  const { sku, sshd } = await place.node('revokes')
  const [owner, member] = [await place.pair('asha'), await place.pair('axel')]
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
    if (round % 10 === 0) console.log(`${round} revokes`)
  }
  await staying.close()
} finally {
  await place.stop()
  await world.stop()
  await postgres.stop()
}
console.log('\nfrom the answer to a revoke until            p50 ms   p99 ms   longest')
const rows = {
  session_ended: 'the session has ended',
  login_refused: 'a login is refused',
  key_gone: 'the API says that it is applied',
} as const
for (const [name, what] of Object.entries(rows)) {
  const times = measured[name as keyof typeof rows]
  const cells = [share(times, 0.5), share(times, 0.99), share(times, 1)].map((each) => `${each}`.padStart(9))
  console.log(`${what.padEnd(40)}${cells.join('')}`)
}
const late = [...measured.session_ended, ...measured.login_refused].filter((each) => each > allowed_ms).length
console.log(
  `\n${rounds} revokes; later than ${allowed_ms} ms: ${late}; let in again: ${faults}; the owner’s session lived through ${survived}`,
)
const [ended, refused] = [share(measured.session_ended, 0.99), share(measured.login_refused, 0.99)]
const isKept = ended <= allowed_ms && refused <= allowed_ms && faults === 0 && survived === rounds
if (!isKept) process.exitCode = 1
recording.end({
  verdict: !isKept ? 'broken' : rounds < 100 ? 'short' : 'kept',
  figure: `${rounds} revokes: session ended p99 ${ended} ms, login refused p99 ${refused} ms; ${faults} let in again, ${rounds - survived} other sessions ended`,
})
