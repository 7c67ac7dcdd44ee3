import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { operations } from '../../contract/src/operations.ts'
import { fixedId, newId } from '../../server/src/ground/kernel/ids.ts'
import type { ServerParts } from '../../server/src/rails/http/server.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { sweep } from '../sweep.ts'
import { actorClasses } from './actor-classes.ts'
import { rows } from './allowed.ts'
import { tableHashes } from './table-hashes.ts'
import { everyCell, walker } from './walk.ts'
import { type MatrixWorld, matrixWorld, ownThings } from './world.ts'

let live: LiveServer
let world: MatrixWorld
beforeAll(async () => {
  live = await liveServer()
  world = await matrixWorld(live)
})
afterAll(async () => {
  world.machines.node.stop()
  world.machines.other.stop()
  await live.stop()
})

const cellsOf = (id: string) => everyCell.filter(({ operation }) => operation.id === id)
const whoIn = (faults: readonly string[]) => faults.map((fault) => fault.split(' ')[0])
/** What differs between a list of operations and the table, by id. */
const unmatched = (ids: readonly string[], named: readonly string[]) => ({
  without_row: ids.filter((id) => !named.includes(id)),
  without_operation: named.filter((id) => !ids.includes(id)),
})
const ids = operations.map(({ id }) => id)

test('MI-06 the matrix has a row for each operation, and none for what is no operation', () => {
  expect(unmatched(ids, Object.keys(rows))).toEqual({ without_row: [], without_operation: [] })
})

test('MI-06 each row names somebody who may, and each class may something', () => {
  expect(Object.keys(rows).filter((id) => rows[id]!.allowed.length === 0)).toEqual([])
  const named = new Set(Object.values(rows).flatMap(({ allowed }) => allowed))
  // Strangers by intent: there is nothing here that these may.
  const strangers = ['anonymous', 'other_node_agent']
  expect(actorClasses.filter((who) => !named.has(who))).toEqual(strangers)
})

test('MI-06 whoever comes to whichever operation reaches 2xx where he is named, and is refused as the rules say where he is not', {
  timeout: 600_000,
}, async () => {
  // What whoever issues and whoever listens writes by itself, whatever becomes of the work.
  const own = [
    ...['audit_logs', 'audit_heads', 'issued_tokens', 'service_account_keys', 'shared_runtime_operator_credentials'],
    ...['nodes', 'node_certificates', 'node_enrolments'],
  ]
  const before = await tableHashes(live, own)
  const matrix = await walker(live, world)
  // Who is named is always asked; of those who are refused, a share in `npm test` and all of them in `npm run test:all`.
  const named = everyCell.filter(({ operation, who }) => rows[operation.id]?.allowed.includes(who))
  const refused = everyCell.filter((cell) => !named.includes(cell))
  expect(await matrix.walk([...named, ...sweep('refused cells', refused, 100)])).toEqual([])
  // Each of them has found the same world.
  expect(await tableHashes(live, own)).toEqual(before)
  matrix.stop()
})

describe('the matrix can fail', () => {
  const walkedWith = async (id: string, broken?: (parts: ServerParts) => ServerParts) => {
    const matrix = await walker(live, world, broken)
    const faults = await matrix.walk(cellsOf(id))
    matrix.stop()
    return whoIn(faults)
  }

  test('an operation without a row and a row without an operation are found', () => {
    expect(unmatched([...ids, 'new.one'], Object.keys(rows)).without_row).toEqual(['new.one'])
    expect(unmatched(ids.slice(1), Object.keys(rows)).without_operation).toEqual([ids[0]])
  })

  test('an operation that admits one class more is found', async () => {
    const widened = (parts: ServerParts): ServerParts => ({
      ...parts,
      answers: parts.answers.map((answer) =>
        answer.operation.id === 'me.invitation.list'
          ? { ...answer, operation: { ...answer.operation, actors: [...answer.operation.actors, 'service_account'] } }
          : answer,
      ) as ServerParts['answers'],
    })
    expect(await walkedWith('me.invitation.list')).toEqual([])
    expect(await walkedWith('me.invitation.list', widened)).toContain('service_account_member')
  })

  test('a person with one permission more than the role has is found', async () => {
    const role = await live.call('amara', 'POST', `/api/v1/projects/${seeded.project.aurora}/roles`, {
      body: { name: 'one-more', permissions: ['project.audit.read'] },
    })
    const binding = newId('binding')
    await live.sql(
      `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
       select $1, $2, 'user', $3, current_version_id, id, now() from role_definitions where id = $4`,
      [binding, seeded.project.aurora, seeded.user('axel'), role.body.id],
    )
    expect(await walkedWith('audit_log.list_of_project')).toEqual(['project_viewer'])
    await live.sql('delete from project_role_bindings where id = $1', [binding])
    expect(await walkedWith('audit_log.list_of_project')).toEqual([])
  })

  test('somebody without the role that his column names is found', async () => {
    const otto = [seeded.user('otto'), fixedId('role', 'platform_ops')]
    const switched = (to: string | null) =>
      live.sql(
        `update platform_role_bindings set deleted_at = ${to === null ? 'null' : 'now()'}, delete_reason = $3 where principal_id = $1 and role_definition_id = $2`,
        [...otto, to],
      )
    await switched('lost')
    expect(await walkedWith('node.list')).toEqual(['platform_ops'])
    await switched(null)
  })
})

test('MI-06 what is one’s own, and what is done to machines in the place of people, has rows of its own', async () => {
  const matrix = await walker(live, world)
  expect(await matrix.walkOwn(await ownThings(live, world))).toEqual([])
  matrix.stop()
})
