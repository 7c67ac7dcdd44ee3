import type { ActorType } from '@gatehouse/contract/operation'
import type { Reader } from '#ground/db/database.ts'
import type { Statement } from '#ground/db/statement.ts'
import { type Source, want } from '#ground/epochs/fresh.ts'
import { liveNodes } from './node-standing-queries.ts'
import { operatorStandingsOf } from './operator-standing-queries.ts'
import { serviceAccountStandingsOf } from './service-account-standing-queries.ts'
import { type Standing, standingOf, standingOfMachine, standingOfNode, standingOfOperator } from './standing.ts'
import { standingsOf } from './standing-queries.ts'

export interface StandingKey {
  readonly actor_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
}

/** In the order of the keys; undefined for somebody unknown. */
type Reading = (reader: Pick<Reader, 'many'>, keys: readonly StandingKey[]) => Promise<readonly (Standing | undefined)[]>

/** By a statement that says of each row which of the places it is about; who has no row is unknown. */
const inOrder =
  <Row extends { readonly n: number }>(
    asking: (ids: readonly string[], tenant_ids: readonly (string | null)[], project_ids: readonly (string | null)[]) => Statement<Row>,
    standing: (row: Omit<Row, 'n'>) => Standing,
  ): Reading =>
  async (reader, keys) => {
    const rows = await reader.many(
      asking(
        keys.map(({ actor_id }) => actor_id),
        keys.map(({ tenant_id }) => tenant_id),
        keys.map(({ project_id }) => project_id),
      ),
    )
    const found: (Standing | undefined)[] = keys.map(() => undefined)
    for (const { n, ...row } of rows) found[n - 1] = standing(row)
    return found
  }

const readPeople = inOrder(standingsOf, standingOf)

/** Undefined also for one that is deleted. */
const readServiceAccounts = inOrder(serviceAccountStandingsOf, ({ home_tenant_id, home_project_id, ...row }) =>
  standingOfMachine(row, { tenant_id: home_tenant_id, project_id: home_project_id, actions: null }),
)

/** Undefined also for one whose runtime is deleted. */
const readOperators = inOrder(operatorStandingsOf, standingOfOperator)

/** A node stands alike everywhere, as long as it is not retired. */
const readNodes: Reading = async (reader, keys) => {
  const rows = await reader.many(liveNodes(keys.map(({ actor_id }) => actor_id)))
  const live = new Set(rows.map(({ id }) => id))
  return keys.map(({ actor_id }) => (live.has(actor_id) ? standingOfNode(actor_id) : undefined))
}

/** Of a type that has no record anywhere. */
const readNobody: Reading = async (_reader, keys) => keys.map(() => undefined)

type ByType<T> = Partial<Record<ActorType | 'system', T>>

const readers: ByType<Reading> = {
  user: readPeople,
  service_account: readServiceAccounts,
  shared_runtime_operator: readOperators,
  node_agent: readNodes,
}

export const readStandingsOf = (
  reader: Pick<Reader, 'many'>,
  type: ActorType | 'system',
  keys: readonly StandingKey[],
): ReturnType<Reading> => (readers[type] ?? readNobody)(reader, keys)

export const standings: Source<StandingKey, Standing> = {
  name: 'standing',
  textOf: ({ actor_id, tenant_id, project_id }) => `${actor_id} ${tenant_id} ${project_id}`,
  tenantOf: ({ tenant_id }) => tenant_id,
  load: readPeople,
  // Anybody may ask about any place: standings of strangers would push those of members out of the cache.
  isToldByEpoch: ({ tenant_id }, { is_tenant_member, is_project_member, platform_roles }) =>
    tenant_id === null || is_tenant_member || is_project_member || platform_roles.length > 0,
}

const serviceAccountStandings: Source<StandingKey, Standing> = {
  ...standings,
  name: 'service account standing',
  load: readServiceAccounts,
  // Asked about elsewhere, it may be disabled at home without anything moving there.
  isToldByEpoch: ({ tenant_id }, { home }) => home?.tenant_id === tenant_id,
}

const operatorStandings: Source<StandingKey, Standing> = {
  ...serviceAccountStandings,
  name: 'operator standing',
  load: readOperators,
}

const sources: ByType<Source<StandingKey, Standing>> = {
  user: standings,
  service_account: serviceAccountStandings,
  shared_runtime_operator: operatorStandings,
}
/** Of all others nothing is read this way, and so nothing kept: of nodes, because no tenant's epoch tells that one is retired. */
const noStandings = { ...standings, name: 'no standing', load: readNobody }

/** How somebody of this type stands there, to be read fresh. */
export const wantStanding = (type: ActorType | 'system', key: StandingKey) => want(sources[type] ?? noStandings, key)
