import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { grantOf } from '../fuzz/access-grant-calls.ts'
import { allocationOf } from '../fuzz/allocation-calls.ts'
import { operatorKeyOf } from '../fuzz/operator-credential-calls.ts'
import { bindingOf, constraintOf, invitationOf, keyOf, roleOf, serviceAccountOf, sshKeyOf, tokenOf } from '../fuzz/rightful-calls.ts'
import { attachmentOf, credentialOf, runtimeOf } from '../fuzz/shared-runtime-calls.ts'
import { type Answered, type LiveServer, seeded } from '../live-server.ts'
import { type ActorClass, isOneOf, nodeAgents, people, personClasses, serviceAccounts } from './actor-classes.ts'
import { rows } from './allowed.ts'
import { type Asked, askedBy } from './calls.ts'
import { type IdPlace, idPlacesOf, withId } from './id-places.ts'
import { fewAtOnce, type Speaking } from './walk.ts'
import type { MatrixWorld } from './world.ts'

const { org, project, user } = seeded
const nobodys = '01890000-0000-7000-8000-000000000000'

/** What another tenant has of each kind. */
const foreign: Readonly<Record<string, string>> = {
  org: org.borealis,
  organization: org.borealis,
  project: project.borealis,
  user: user('bella'),
  principal: user('bella'),
  actor: serviceAccountOf('foreign'),
  resource: allocationOf('foreign'),
  constraint: constraintOf('foreign'),
  role: roleOf('foreign'),
  binding: bindingOf('foreign'),
  invitation: invitationOf('foreign'),
  'service account': serviceAccountOf('foreign'),
  'service account key': keyOf('foreign'),
  credential: keyOf('foreign'),
  token: tokenOf('foreign'),
  allocation: allocationOf('foreign'),
  'access grant': grantOf('foreign'),
  'ssh key': sshKeyOf('foreign'),
  'shared runtime': runtimeOf('foreign'),
  attachment: attachmentOf('foreign'),
  'operator credential': operatorKeyOf('foreign'),
  'runtime credential': credentialOf('foreign'),
}

/** What the own tenant has of each kind in another place than the one that is asked about: of another project, allocation, runtime. */
const siblings = (world: MatrixWorld, { id }: Operation): Readonly<Record<string, string>> => {
  const other = id.endsWith('_of_project') ? 'of_organization' : 'of_project'
  return {
    role: roleOf(other),
    binding: bindingOf(other),
    invitation: invitationOf(other),
    constraint: constraintOf(other),
    'service account': world.siblings.service_account_id,
    'service account key': world.siblings.key_id,
    'access grant': world.siblings.grant_id,
    attachment: attachmentOf(id.endsWith('.delete') ? 'own' : 'end'),
    'operator credential': operatorKeyOf('own'),
    'runtime credential': credentialOf('own'),
    'ssh key': sshKeyOf(id.startsWith('project.') ? 'own' : 'of_project'),
  }
}

/** What an id there stands for, and what goes with it. */
const ofNode = (world: MatrixWorld): Readonly<Record<string, string>> => ({
  node: world.machines.other.id,
  'node task': world.machines.other_task_id,
  allocation: world.machines.other_allocation_id,
})

/** Not ours to look up: made by whoever asks. */
const isAskersOwn = ({ kind }: IdPlace): boolean => kind === 'node event' || kind === 'nothing of ours'
/** Told under the node's own signature, which would be none if it were changed. */
const isSigned = ({ path }: IdPlace): boolean => path[0] === 'receipt'

/** Members that go with an id, or in whose place it stands. */
const fitted = (asked: Asked, { part, path }: IdPlace): Asked => {
  const [name] = path
  if (part === 'header') {
    const { project_id: _, ...body } = asked.body ?? {}
    return { ...asked, query: '', ...(asked.body ? { body } : {}) }
  }
  if (part !== 'body') return asked
  const without = asked.one_of?.includes(name!) ? asked.one_of : name === 'role_id' ? ['role_name'] : []
  const body: Record<string, unknown> = Object.fromEntries(Object.entries(asked.body ?? {}).filter(([each]) => !without.includes(each)))
  if (name === 'actor') body.actor = { type: 'service_account' }
  if (name === 'questions' && path.includes('actor')) {
    const [question] = body.questions as Record<string, unknown>[]
    body.questions = [{ ...question, actor: { type: 'service_account' } }]
  }
  if (name === 'members') body.members = [{ name: 'one', role: 'worker', state: 'ready', allocation_id: null }]
  return { ...asked, body }
}

export interface Trial {
  readonly operation: Operation
  readonly who: ActorClass
  /** Which id was changed, in words. */
  readonly where: string
  readonly others: Asked
  readonly unknown: Asked
}

const wordsOf = ({ part, path }: IdPlace) => `${part} ${path.join('.')}`
/** To the platform nothing is foreign; and who is of the other tenant asks about his own. */
const isOfOneTenant = (who: ActorClass): boolean => !who.startsWith('platform_') && !who.startsWith('outside')

/** Kinds of which nobody has said what another tenant has. */
export const unnamedKinds = (world: MatrixWorld): string[] => {
  const known = new Set([...Object.keys(foreignTo(world, 'anonymous')), ...Object.keys(ofNode(world))])
  const kinds = operations.flatMap(idPlacesOf).filter((place) => !isAskersOwn(place))
  return [...new Set(kinds.map(({ kind }) => kind))].filter((kind) => !known.has(kind))
}

const foreignTo = (world: MatrixWorld, who: ActorClass): Readonly<Record<string, string>> => ({
  ...foreign,
  ...(isOneOf(nodeAgents, who) ? ofNode(world) : {}),
})

/**
 * Each id of each operation, for everybody of one tenant who may call it: alone among ids of his own, and all at once, which is another
 * tenant's thing as it is. Where it is one of a path, also his own tenant's of another place.
 */
export const trialsOf = (world: MatrixWorld, operation: Operation): Trial[] =>
  rows[operation.id]!.allowed.filter(isOfOneTenant).flatMap((who) => {
    const asked = askedBy(world, operation, who)
    const places = idPlacesOf(operation).filter((place) => !isAskersOwn(place) && !isSigned(place))
    const [others, near] = [foreignTo(world, who), siblings(world, operation)]
    const trial = (where: string, changed: readonly IdPlace[], ids: Readonly<Record<string, string>>): Trial => {
      const fit = changed.reduce((each, place) => fitted(each, place), asked)
      const putting = (idOf: (place: IdPlace) => string) => changed.reduce((each: Asked, place) => withId(each, place, idOf(place)), fit)
      return { operation, who, where, others: putting(({ kind }) => ids[kind] ?? nobodys), unknown: putting(() => nobodys) }
    }
    const inPath = places.filter(({ part }) => part === 'params')
    return [
      ...places.map((place) => trial(wordsOf(place), [place], others)),
      ...(inPath.length > 1 ? [trial('the whole path', inPath, others)] : []),
      ...inPath.filter(({ kind }) => near[kind]).map((place) => trial(`${wordsOf(place)} of another place`, [place], near)),
    ]
  })

/** What differs from one answer to the next whatever is asked: which request it was, and which decision. */
const bytesOf = ({ status, text, headers }: Answered, correlation_id: string): string => {
  const told = [...headers].filter(([name]) => name !== 'date' && name !== 'content-length').map(([name, value]) => `${name}: ${value}`)
  return [status, text.replaceAll(/"decision_id":"[^"]*"/g, ''), ...told].join('\n').replaceAll(correlation_id, '')
}

/** Whose action it is in the record. */
const actorIdOf = (world: MatrixWorld, who: ActorClass): string => {
  if (isOneOf(personClasses, who)) return user(people[who])
  if (isOneOf(serviceAccounts, who)) return world.credentials.get(who)!.service_account_id
  if (isOneOf(nodeAgents, who)) return world.machines.node.id
  return who === 'delegated_operator' ? world.delegated.id : runtimeOf('own')
}

interface Asking {
  readonly correlation_id: string
  readonly answer: Answered
  readonly bytes: string
}
type Recorded = Readonly<Record<string, unknown>>

/** Asked with another tenant's, then with nobody's. */
const asked = async (speaking: Speaking, { operation, who, others, unknown }: Trial): Promise<readonly [Asking, Asking]> => {
  const ask = async (call: Asked & { headers?: Record<string, string> }): Promise<Asking> => {
    const correlation_id = newId('correlation')
    const answer = await speaking.send(operation, who, call, { ...call.headers, 'x-request-id': correlation_id })
    return { correlation_id, answer, bytes: bytesOf(answer, correlation_id) }
  }
  return [await ask(others), await ask(unknown)]
}

/** What the record lacks, or says wrongly, of one refusal. */
const faultInRecord = (world: MatrixWorld, { operation, who }: Trial, rows: readonly Recorded[]): string | undefined => {
  const [row, ...more] = rows
  if (!row || more.length > 0) return `${rows.length} records of a refusal`
  const action = operation.identified_by === 'credential' ? 'auth.token.deny' : operation.recorded_as[0]
  if (row.result !== 'denied' || row.action !== action || row.actor_id !== actorIdOf(world, who) || !row.reason_code)
    return `recorded as ${JSON.stringify(row).slice(0, 400)}`
  return row.tenant_id === org.borealis ? 'recorded with the other tenant' : undefined
}

const faultsIn = (world: MatrixWorld, trial: Trial, askings: readonly [Asking, Asking], recordOf: (id: string) => readonly Recorded[]) => {
  const { operation, who, where } = trial
  const [strange, none] = askings
  const faults: (string | undefined)[] = [
    strange.bytes === none.bytes ? undefined : `told apart: ${strange.bytes.slice(0, 200)} / ${none.bytes.slice(0, 200)}`,
    strange.answer.body?.code === 'validation_error' ? `not even read: ${strange.answer.text}` : undefined,
    operation.effect === 'change' && strange.answer.status < 300 ? `done: ${strange.answer.text}` : undefined,
    ...askings
      .filter(({ answer }) => answer.status === 403 || answer.status === 404)
      .map(({ correlation_id }) => faultInRecord(world, trial, recordOf(correlation_id))),
  ]
  return faults.filter((fault) => fault !== undefined).map((fault) => `${who} at ${operation.id}, ${where}: ${fault}`)
}

/** Whatever another tenant's ids tell that unknown ones do not, and what the record lacks of it. */
export const faultsOf = async (live: LiveServer, world: MatrixWorld, speaking: Speaking, trials: readonly Trial[]): Promise<string[]> => {
  const askings = await fewAtOnce(trials, (trial) => asked(speaking, trial))
  const recorded = await live.sql<Recorded>('select * from audit_logs where correlation_id = any($1::text[])', [
    askings.flat().map(({ correlation_id }) => correlation_id),
  ])
  const records = Map.groupBy(recorded, ({ correlation_id }) => correlation_id)
  return trials.flatMap((trial, n) => faultsIn(world, trial, askings[n]!, (id) => records.get(id) ?? []))
}
