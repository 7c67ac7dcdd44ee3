import { setTimeout as sleep } from 'node:timers/promises'
import { type PublicKey, parsePublicKey } from '../../../server/src/fleet/ssh-keys/ssh-public-key.ts'
import { newId } from '../../../server/src/ground/kernel/ids.ts'
import { crowd } from '../../crowd.ts'
import { seeded } from '../../live-server.ts'
import { newKeyLine } from '../../ssh-key-lines.ts'
import type { AccessPlace } from './place.ts'
import { wantedSets } from './reference.ts'

const { project, user } = seeded
const owner = 'asha'

interface Key {
  readonly id: string
  readonly user_id: string
}

/** Three people of the seeded project with two keys each, and two more of the owner's. */
const cast = async ({ world }: AccessPlace) => {
  const people = await crowd(world, 3)
  // One of them has a key that the owner has, too.
  const shared = newKeyLine()
  const lines = [...people.map(({ id }) => id), user(owner)].flatMap((user_id) =>
    [newKeyLine(), newKeyLine()].map((line) => ({ user_id, line })),
  )
  lines[0]!.line = shared
  lines.at(-1)!.line = shared
  const keys: Key[] = []
  for (const { user_id, line } of lines) {
    const { key_type, bits, blob, fingerprint } = parsePublicKey(line) as PublicKey
    const id = newId('ssh key')
    await world.sql(
      `insert into ssh_public_keys (id, user_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
       values ($1, $2, 'k', $3, $4, $5, $6, now(), 'user', $2)`,
      [id, user_id, key_type, bits, blob, fingerprint],
    )
    keys.push({ id, user_id })
  }
  return { people, keys: keys.filter(({ user_id }) => user_id !== user(owner)), own: keys.filter(({ user_id }) => user_id === user(owner)) }
}

/** One allocation, and so many changes of who may enter it, by three at a time, each by another server. */
const playSchedule = async (place: AccessPlace, changes = 10): Promise<{ id: string; faults: string[] }> => {
  const { chance, call } = place
  const { people, keys, own } = await cast(place)
  const faults: string[] = []
  const asked = async (person: string, method: string, path: string, body: object) => {
    const answer = await call(person, method, `/api/v1${path}`, { body })
    if (answer.status >= 500 && answer.status !== 503) faults.push(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const wish = { project_id: project.aurora, name: 'schedule', region: place.region, sku: 'access', gpus: 1 }
  let made = await asked(owner, 'POST', '/allocations', { ...wish, ssh_key_ids: chance.some(own).map(({ id }) => id) })
  for (let tries = 0; made.status === 503 && tries < 10; tries += 1) made = await asked(owner, 'POST', '/allocations', wish)
  if (made.status !== 201) throw new Error(`an allocation was to be made: ${made.status} ${made.text}`)
  const id: string = made.body.id
  const one = `/allocations/${id}`
  const grants: string[] = []
  const subjectOf = (key: Key) => people.find((person) => person.id === key.user_id)!.subject

  const acts: readonly (readonly [weight: number, act: () => Promise<unknown>])[] = [
    [
      8,
      async () => {
        const key = chance.one(keys)
        const answer = await asked(owner, 'POST', `${one}/access-grants`, { grantee_user_id: key.user_id, ssh_key_id: key.id })
        if (answer.status === 201) grants.push(answer.body.id)
      },
    ],
    [4, async () => grants.length > 0 && asked(owner, 'DELETE', `${one}/access-grants/${chance.one(grants)}`, {})],
    [4, () => asked(owner, 'PUT', `${one}/ssh-keys`, { ssh_key_ids: chance.some(own).map((key) => key.id) })],
    [2, () => asked('amara', 'DELETE', `/projects/${project.aurora}/members/${chance.one(people).id}`, {})],
    [
      2,
      () => asked('amara', 'POST', `/projects/${project.aurora}/members`, { user_id: chance.one(people).id, role_name: 'project_viewer' }),
    ],
    [
      1,
      () => {
        const key = chance.one(keys)
        return asked(subjectOf(key), 'DELETE', `/ssh-keys/${key.id}`, {})
      },
    ],
    [0.4, () => asked(owner, 'POST', `${one}/release`, {})],
  ]
  const drawn = acts.flatMap(([weight, act]) => Array.from({ length: Math.round(weight * 5) }, () => act))
  let left = changes
  const lane = async () => {
    while (left > 0) {
      left -= 1
      await chance.one(drawn)()
      if (chance.is(0.3)) await sleep(chance.below(20))
    }
  }
  await Promise.all([lane(), lane(), lane()])
  return { id, faults }
}

const openTasks = `
  select count(*)::int as n from node_tasks
   where state in ('queued', 'dispatched') and type like 'allocation.%' and node_id = any ($1::uuid[])`

/** Lets the nodes do all that there is to do, and then gives them what was to come late. */
const quiet = async ({ nodes, world: { sql } }: AccessPlace): Promise<string[]> => {
  for (const node of nodes) node.calm()
  const until = performance.now() + 60_000
  for (;;) {
    const [row] = await sql<{ n: number }>(openTasks, [nodes.map(({ id }) => id)])
    if (row!.n === 0) break
    if (performance.now() > until) return [`${row!.n} tasks are still open`]
    await sleep(25)
  }
  for (const node of nodes) await node.deliverLate()
  for (const node of nodes) node.unsettle()
  return []
}

/** What is wrong when all is quiet: sets that differ from what they must be, and access that came back after it had gone. */
const judge = async ({ nodes, world: { sql }, history, call }: AccessPlace, ids: readonly string[]): Promise<string[]> => {
  const faults: string[] = []
  for (const { id, state, node_id, fingerprints } of await wantedSets(sql, ids)) {
    if (state !== 'active' && state !== 'released') faults.push(`${id} is ${state}`)
    for (const node of nodes) {
      const held = node.held.get(id)
      const wanted = node.id === node_id ? fingerprints : []
      if (String([...(held?.keys ?? [])].sort()) !== String(wanted)) faults.push(`${id} (${state}): ${held?.keys} instead of ${wanted}`)
      if (held && held.is_there !== (state === 'active'))
        faults.push(`${id} is ${state}, and its account is ${held.is_there ? 'there' : 'gone'}`)
    }
    const listed = await call('amara', 'GET', `/api/v1/allocations/${id}/access-grants?limit=200`)
    for (const grant of listed.body.items)
      if (!['active', 'revoked', 'expired'].includes(grant.state) || grant.runtime_sync.status !== 'applied')
        faults.push(`${id}: a grant is told as ${grant.state}, ${grant.runtime_sync.status}`)
  }
  const ended = await sql<{ id: string; allocation_id: string; generation: string | null }>(
    'select id, allocation_id, generation from allocation_access_grants where allocation_id = any ($1::uuid[]) and ended_at is not null',
    [ids],
  )
  for (const { id, allocation_id, generation } of ended) {
    const sets = history.filter((each) => each.allocation_id === allocation_id)
    const gone = generation === null ? 0 : sets.findIndex(({ applied }) => applied.generation >= Number(generation))
    const back = gone === -1 ? [] : sets.slice(gone).filter(({ applied }) => applied.grant_ids.includes(id))
    if (back.length > 0) faults.push(`${allocation_id}: the grant ${id} came back after it had gone`)
  }
  return faults
}

/** So many schedules, some at a time; then all is let come to rest and judged. */
export const playBatch = async (place: AccessPlace, schedules: number): Promise<string[]> => {
  const played = await Promise.all(Array.from({ length: schedules }, () => playSchedule(place)))
  const unquiet = await quiet(place)
  return [
    ...played.flatMap(({ faults }) => faults),
    ...unquiet,
    ...(await judge(
      place,
      played.map(({ id }) => id),
    )),
  ]
}
