import { type Source, type Wanted, want } from '../epochs/fresh.ts'
import { secretsBeginning } from '../kernel/spelled-secret.ts'
import { type OperatorKey, operatorKeysOf } from './operator-credential-queries.ts'

/** The secrets of operators are known from those of service accounts by how they begin. */
export const { make: newOperatorSecret } = secretsBeginning('ghro_')

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
    for (const { n, ...row } of rows) found[n - 1] = row
    return found
  },
}

/** The credential as it is now; undefined where that runtime of that organization has no such one. */
export const wantOperatorKey = (named: Named): Wanted<OperatorKey> => want(operatorKeys, named)
