import type { Reader } from '#ground/db/database.ts'
import { type FreshReader, type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { type ChainValue, effectiveValue } from './effective-value.ts'
import type { PolicyKey, PolicyValue } from './policy-definitions.ts'
import { currentValues, currentValuesOf } from './policy-queries.ts'

/** Where a limit is asked for; without it, on the platform. */
export interface PolicyPlace {
  readonly tenant_id: string | null
  readonly project_id: string | null
}
const platform: PolicyPlace = { tenant_id: null, project_id: null }

interface PolicyAsked extends PolicyPlace {
  readonly key: PolicyKey
}

const required = <K extends PolicyKey>(key: K, chain: readonly ChainValue[]): PolicyValue<K> => {
  const effective = effectiveValue(key, chain)
  if (effective === undefined)
    throw new Problem('policy_unavailable', undefined, new Error(`policy ${key} is ${chain.length > 0 ? 'unreadable' : 'missing'}`))
  return effective.value
}

const readChain = (reader: Pick<Reader, 'many'>, { key, tenant_id, project_id }: PolicyAsked): Promise<readonly ChainValue[]> =>
  reader.many(currentValues(key, tenant_id, project_id))

/** The one reader of policy. A value that is missing or unreadable refuses; no limit is written into code. */
export const readPolicy = async <K extends PolicyKey>(
  reader: Pick<Reader, 'many'>,
  key: K,
  place: PolicyPlace = platform,
): Promise<PolicyValue<K>> => required(key, await readChain(reader, { key, ...place }))

/** Several limits of one place in one statement. */
export const readPolicies = async <const K extends PolicyKey>(
  reader: Pick<Reader, 'many'>,
  keys: readonly K[],
  { tenant_id, project_id }: PolicyPlace,
): Promise<{ readonly [Key in K]: PolicyValue<Key> }> => {
  const found = Map.groupBy(await reader.many(currentValuesOf(keys, tenant_id, project_id)), ({ key }) => key)
  return Object.fromEntries(keys.map((key) => [key, required(key, found.get(key) ?? [])])) as { readonly [Key in K]: PolicyValue<Key> }
}

const policyChains: Source<PolicyAsked, readonly ChainValue[]> = {
  name: 'policy',
  textOf: ({ key, tenant_id, project_id }) => `${key} ${tenant_id} ${project_id}`,
  tenantOf: ({ tenant_id }) => tenant_id,
  load: async (tx, asked) => {
    const chains = []
    for (const each of asked) chains.push(await readChain(tx, each))
    return chains
  },
}

/** On the platform, where some are asked for with every request; there are only so many keys. */
const onPlatform = new Map<PolicyKey, Wanted<readonly ChainValue[]>>()
const wantOnPlatform = (key: PolicyKey): Wanted<readonly ChainValue[]> => {
  const wanted = onPlatform.get(key) ?? want(policyChains, { key, ...platform })
  onPlatform.set(key, wanted)
  return wanted
}

/** A limit's values on the way to a place, to be read together with other things. */
export const wantPolicy = (key: PolicyKey, place: PolicyPlace = platform): Wanted<readonly ChainValue[]> =>
  place === platform ? wantOnPlatform(key) : want(policyChains, { key, ...place })

/** What a chain that is kept comes to. */
const worked = new WeakMap<readonly ChainValue[], unknown>()
/** The limit that was wanted, from what was read. */
export const policyIn = <K extends PolicyKey>(key: K, chain: readonly ChainValue[] = []): PolicyValue<K> => {
  const known = worked.get(chain) ?? required(key, chain)
  worked.set(chain, known)
  return known as PolicyValue<K>
}

/** The same, for what is asked so often that it is kept while it is proved to be so. */
export const readPolicyFresh = async <K extends PolicyKey>(
  fresh: FreshReader,
  key: K,
  place: PolicyPlace = platform,
): Promise<PolicyValue<K>> => policyIn(key, (await fresh.read([wantPolicy(key, place)])).values[0])
