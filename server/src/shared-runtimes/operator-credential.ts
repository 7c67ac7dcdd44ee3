import { LRUCache } from 'lru-cache'
import type { Reader } from '../db/database.ts'
import { type Source, type Wanted, want } from '../epochs/fresh.ts'
import { secretsBeginning } from '../kernel/spelled-secret.ts'
import { homeOfRuntime, type OperatorKeyRow, operatorKeysOf } from './operator-credential-queries.ts'

/** The secrets of operators are known from those of service accounts by how they begin. */
export const { make: newOperatorSecret } = secretsBeginning('ghro_')

/** One as any credential is proved; operators have secrets alone, and register no keys. */
export type OperatorKey = OperatorKeyRow & { readonly alg: null; readonly public_jwk: null }

/** What a caller names when he says which one he holds. */
interface Named {
  readonly shared_runtime_id: string
  readonly key_id: string
  readonly org_id: string
}

const operatorKeys: Source<Named, OperatorKey> = {
  name: 'operator credential',
  textOf: ({ shared_runtime_id, key_id, org_id }) => `${shared_runtime_id} ${key_id} ${org_id}`,
  tenantOf: ({ org_id }) => org_id,
  load: async (reader, named) => {
    const rows = await reader.many(
      operatorKeysOf(
        named.map(({ key_id }) => key_id),
        named.map(({ shared_runtime_id }) => shared_runtime_id),
        named.map(({ org_id }) => org_id),
      ),
    )
    const found: (OperatorKey | undefined)[] = named.map(() => undefined)
    for (const { n, ...row } of rows) found[n - 1] = { ...row, alg: null, public_jwk: null }
    return found
  },
}

/** The credential as it is now; undefined where that runtime of that organization has no such one. */
export const wantOperatorKey = (named: Named): Wanted<OperatorKey> => want(operatorKeys, named)

interface RuntimeHome {
  readonly org_id: string
  readonly project_id: null
}

/** Whose a runtime is. It never changes hands, so nothing has to be proved; that one is unknown is not kept. */
export const keepRuntimeHomes = (reader: Pick<Reader, 'maybe'>, most_entries = 100_000) => {
  const kept = new LRUCache<string, RuntimeHome>({ max: most_entries })
  return async (shared_runtime_id: string): Promise<RuntimeHome | undefined> => {
    const known = kept.get(shared_runtime_id)
    if (known) return known
    const found = await reader.maybe(homeOfRuntime(shared_runtime_id))
    if (found) kept.set(shared_runtime_id, found)
    return found
  }
}
