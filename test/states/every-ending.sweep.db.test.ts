import { beforeAll, expect, test } from 'vitest'
import { inProject, newProject } from '../faults/recipes/places.ts'
import type { Asking, Stage } from '../faults/recipes/recipe.ts'
import { operationOf, recipes } from '../faults/recipes.ts'
import { noRateLimits, serverFixture } from '../live-server.ts'
import { isWhole, sweep } from '../sweep.ts'
import { type Disturbed, disturbancesOn } from './disturbances.ts'
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

/** What is done around a thing, all of it or nothing; `null` where one of them does not apply, or the state before it rules it out. */
const disturbedBy = async (asking: Asking, names: readonly string[]): Promise<Disturbed[] | 'not its kind' | 'out of reach'> => {
  const known = disturbancesOn(live, stage)
  const acts: (() => Promise<Disturbed>)[] = []
  for (const name of names) {
    const act = await known[name]!(asking)
    if (act === null) return 'not its kind'
    acts.push(act)
  }
  const made: Disturbed[] = []
  for (const [index, act] of acts.entries()) {
    // The first must work. A later one may be refused because of those before it: then nobody reaches that state in this order.
    const next = await act().catch((error: Error) => (index === 0 ? Promise.reject(error) : null))
    if (next === null) {
      await wakeAll(made)
      return 'out of reach'
    }
    made.push(next)
  }
  return made
}
const wakeAll = async (disturbed: readonly Disturbed[]) => {
  for (const { wake } of disturbed.toReversed()) await wake?.()
}

/** What is wrong with this ending of a thing that was disturbed; null if it works, or has a documented reason not to. */
const judged = async (
  operation: string,
  make: () => Promise<Asking>,
  names: readonly string[],
): Promise<string | null | 'out of reach'> => {
  const asking = spare.get(make) ?? (await make())
  spare.delete(make)
  const disturbed = await disturbedBy(asking, names)
  if (disturbed === 'out of reach') return disturbed
  if (disturbed === 'not its kind') {
    spare.set(make, asking)
    return null
  }
  tried += 1
  // Tokens of machines end with these, also those of things that were put aside.
  if (names.includes('its organization is suspended') || names.includes('a restore was accepted since')) spare.clear()
  const { success, problems } = operationOf(operation)
  const isResting = ({ status, body }: Answer) => status === 403 && body.details?.reason_code === 'policy_constraint_denied'
  const isEnded = ({ status, body }: Answer) =>
    disturbed.some(({ is_ended }) => is_ended) && [404, 409].includes(status) && (problems as readonly string[]).includes(body.code)
  const isRight = (answer: Answer) => answer.status === success || isEnded(answer) || isThere(operation, answer)
  const first = await ask(operation, asking).catch(async (error: Error) => {
    await wakeAll(disturbed)
    throw error
  })
  await wakeAll(disturbed)
  const isWoken = disturbed.some(({ wake }) => wake) && isResting(first)
  const last = isWoken ? await ask(operation, asking) : first
  return isRight(last) ? null : `${operation}, ${names.join(' and ')}: ${last.status} ${JSON.stringify(last.body)}`
}

/** What is wrong in the state that these lead to, in whichever order they can be done. */
const judgedInAnyOrder = async (operation: string, make: () => Promise<Asking>, names: readonly string[]): Promise<string | null> => {
  for (const order of [names, names.toReversed()]) {
    const fault = await judged(operation, make, order).catch((error: Error) => `${operation}, ${order.join(' and ')}: ${error.message}`)
    if (fault !== 'out of reach') return fault
  }
  return null
}

const cases = () =>
  things.flatMap(([operation, make]) => Object.keys(disturbancesOn(live, stage)).map((disturb) => ({ operation, make, disturb })))

test('HO-09 M7 every ending: thing × state × way to end it → ended, or documented as ended already', async () => {
  const faults: string[] = []
  for (const { operation, make, disturb } of sweep('endings', cases(), 40)) {
    const fault = await judgedInAnyOrder(operation, make, [disturb])
    if (fault !== null) faults.push(fault)
    await live.tended()
  }
  expect(faults).toEqual([])
  // Not every thing rests on everything; but the sweep must not have become empty.
  expect(tried).toBeGreaterThanOrEqual(isWhole ? 150 : 1)
})

/** The pairs of things that this one rests on. */
const pairsOf = async (make: () => Promise<Asking>): Promise<string[][]> => {
  const asking = spare.get(make) ?? (await make())
  spare.set(make, asking)
  const apply: string[] = []
  for (const [name, look] of Object.entries(disturbancesOn(live, stage)))
    if (name !== 'nothing' && (await look(asking)) !== null) apply.push(name)
  return apply.flatMap((one, index) => apply.slice(index + 1).map((other) => [one, other]))
}

test('HO-09 M7 every ending: thing × pair of states around it → ended, or documented as ended already', async () => {
  const faults: string[] = []
  tried = 0
  for (const [index, [operation, make]] of sweep('things in pairs of states', [...things.entries()], 10))
    for (const names of sweep(`pairs of states ${index}`, await pairsOf(make), 2)) {
      const fault = await judgedInAnyOrder(operation, make, names)
      if (fault !== null) faults.push(fault)
      await live.tended()
    }
  expect(faults).toEqual([])
  expect(tried).toBeGreaterThanOrEqual(isWhole ? 200 : 1)
})

/** A check on bindings of service accounts, which a later change of their role can violate. */
const whileChecked = async (condition: string, act: () => Promise<void>) => {
  await live.sql(`create function is_fit(role uuid) returns boolean language sql as
                  'select ${condition} from role_definitions where id = role';
                  alter table project_role_bindings add constraint role_not_assignable
                    check (principal_type = 'user' or is_fit(role_definition_id)) not valid`)
  await act().finally(() => live.sql('alter table project_role_bindings drop constraint role_not_assignable; drop function is_fit'))
}
const narrowed = 'its role is no longer for accounts'
const refused = '409 {"code":"role_not_assignable"'

test('HO-09 M7 the control: a check that a later change of the role violates → the sweep finds it', async () => {
  await whileChecked('is_assignable_to_service_accounts', async () => {
    for (const operation of ['role_binding.end_of_project', 'service_account.delete'])
      expect(await judged(operation, more[operation]!, [narrowed])).toContain(refused)
  })
  expect(await judged('role_binding.end_of_project', more['role_binding.end_of_project']!, [narrowed])).toBeNull()
})

test('HO-09 M7 the control: a check that only two later changes violate → only the pair finds it', async () => {
  await whileChecked(`is_assignable_to_service_accounts or state = ''active''`, async () => {
    const judgedAfter = (...names: string[]) => judgedInAnyOrder('role_binding.end_of_project', more['role_binding.end_of_project']!, names)
    expect(await judgedAfter(narrowed)).toBeNull()
    expect(await judgedAfter('its role is disabled')).toBeNull()
    expect(await judgedAfter(narrowed, 'its role is disabled')).toContain(refused)
  })
})
