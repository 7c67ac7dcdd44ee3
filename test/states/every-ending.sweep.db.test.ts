import { beforeAll, expect, test } from 'vitest'
import { inProject, newProject } from '../faults/recipes/places.ts'
import type { Asking, Stage } from '../faults/recipes/recipe.ts'
import { operationOf, recipes } from '../faults/recipes.ts'
import { noRateLimits, serverFixture } from '../live-server.ts'
import { isWhole, sweep } from '../sweep.ts'
import { disturbancesOn } from './disturbances.ts'
import { type Answer, liveStage } from './live-stage.ts'
import { scenesOn } from './scenes.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'allocations.max_requested_per_project': 10_000 } })
let stage: Stage
let ask: (operation: string, asking: Asking) => Promise<Answer>
beforeAll(async () => {
  ;({ stage, ask } = await liveStage(live))
  await scenesOn(live, stage).rolesInGrace()
})

const reason = 'an ending'
const isEnding = /\.(?:delete|revoke|end|remove|release|retire|detach|disable|archive|suspend)(?:_|$)/

/** An account with a role of its project that is for accounts, and the binding. */
const anAccountWithARole = async () => {
  const there = inProject((await newProject(stage)).id)
  const slug = stage.word()
  const account = await stage.done('service_account.create', { ...there, body: { name: slug, slug, reason } })
  const permissions = ['storage.read']
  const defining = { ...there, body: { name: slug, permissions, is_assignable_to_service_accounts: true, reason } }
  const role = await stage.done('role.create_of_project', defining)
  const binding = { principal_type: 'service_account', principal_id: account.id, role_id: role.id, reason }
  const { id } = await stage.done('role_binding.create_of_project', { ...there, body: binding })
  const at = (params: object): Asking => ({ ...there, params: { ...there.params, ...params }, body: { reason } })
  return { binding: at({ binding_id: id }), account: at({ service_account_id: account.id }), role: at({ role_id: role.id }) }
}

/** Things that the recipes do not make, with the operation that ends each. */
const more: Readonly<Record<string, () => Promise<Asking>>> = {
  'role_binding.end_of_project': async () => (await anAccountWithARole()).binding,
  'service_account.delete': async () => (await anAccountWithARole()).account,
  'role.delete_of_project': async () => (await anAccountWithARole()).role,
}
const things: [string, () => Promise<Asking>][] = [
  ...Object.entries(recipes)
    .filter(([operation]) => isEnding.test(operation))
    .map(([operation, { prepare }]): [string, () => Promise<Asking>] => [operation, () => prepare(stage)]),
  ...Object.entries(more),
]

/** Things that were made and that a disturbance had nothing to do with: good for the next. */
const spare = new Map<() => Promise<Asking>, Asking>()

let tried = 0

/** How the state is called that an ending leads to: whoever is there already is told so. */
const ends: Readonly<Record<string, string>> = {
  disable: 'disabled',
  archive: 'archived',
  suspend: 'suspended',
  delete: 'deleted',
  retire: 'retired',
}
const isThere = (operation: string, { status, body }: Answer): boolean => {
  const verb = operation.split('.').at(-1)!.split('_')[0]!
  return status === 409 && body.code === 'state_conflict' && ends[verb] !== undefined && body.details?.state === ends[verb]
}

/** What is wrong with this ending of a thing that was disturbed; null if it works, or has a documented reason not to. */
const judged = async (operation: string, make: () => Promise<Asking>, disturb: string): Promise<string | null> => {
  const asking = spare.get(make) ?? (await make())
  spare.delete(make)
  const disturbed = await disturbancesOn(live, stage)[disturb]!(asking)
  if (disturbed === null) {
    spare.set(make, asking)
    return null
  }
  tried += 1
  const { success, problems } = operationOf(operation)
  const first = await ask(operation, asking)
  const isResting = first.status === 403 && first.body.details?.reason_code === 'policy_constraint_denied'
  if (disturbed.wake && first.status !== success && !isResting && !isThere(operation, first))
    return `${operation}, ${disturb}: ${first.status} ${JSON.stringify(first.body)}`
  await disturbed.wake?.()
  const last = !isResting || !disturbed.wake ? first : await ask(operation, asking)
  const isAlreadyEnded = disturbed.is_ended && [404, 409].includes(last.status) && (problems as readonly string[]).includes(last.body.code)
  return last.status === success || isAlreadyEnded || isThere(operation, last)
    ? null
    : `${operation}, ${disturb}: ${last.status} ${JSON.stringify(last.body)}`
}

const cases = () =>
  things.flatMap(([operation, make]) => Object.keys(disturbancesOn(live, stage)).map((disturb) => ({ operation, make, disturb })))

test('HO-09 M7 every ending: thing × state × way to end it → ended, or documented as ended already', async () => {
  const faults: string[] = []
  for (const { operation, make, disturb } of sweep('endings', cases(), 40)) {
    const fault = await judged(operation, make, disturb).catch((error: Error) => `${operation}, ${disturb}: ${error.message}`)
    if (fault !== null) faults.push(fault)
    await live.tended()
  }
  expect(faults).toEqual([])
  // Not every thing rests on everything; but the sweep must not have become empty.
  expect(tried).toBeGreaterThanOrEqual(isWhole ? 140 : 1)
})

test('HO-09 M7 the control: a check that a later change of the role violates → the sweep finds it', async () => {
  await live.sql(`create function is_for_accounts(role uuid) returns boolean language sql as
                  'select is_assignable_to_service_accounts from role_definitions where id = role';
                  alter table project_role_bindings add constraint role_not_assignable
                    check (principal_type = 'user' or is_for_accounts(role_definition_id)) not valid`)
  try {
    for (const operation of ['role_binding.end_of_project', 'service_account.delete'])
      expect(await judged(operation, more[operation]!, 'its role is no longer for accounts')).toContain('409 {"code":"role_not_assignable"')
  } finally {
    await live.sql('alter table project_role_bindings drop constraint role_not_assignable; drop function is_for_accounts')
  }
  expect(await judged('role_binding.end_of_project', more['role_binding.end_of_project']!, 'its role is no longer for accounts')).toBeNull()
})
