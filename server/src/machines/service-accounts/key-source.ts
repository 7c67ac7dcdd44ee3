import type { Statement } from '#ground/db/statement.ts'
import type { Source } from '#ground/epochs/fresh.ts'

/** What a caller names when he says which key he holds, and whose it is. */
export interface NamedKey {
  readonly owner_id: string
  readonly key_id: string
  readonly org_id: string
}

/** Keys of a table as they are now: each as one of the owner that is named with it, and he as one of that organization. */
export const keySource = <Found extends { readonly n: number }>(
  name: string,
  find: (key_ids: readonly string[], owner_ids: readonly string[], org_ids: readonly string[]) => Statement<Found>,
): Source<NamedKey, Omit<Found, 'n'>> => ({
  name,
  textOf: ({ owner_id, key_id, org_id }) => `${owner_id} ${key_id} ${org_id}`,
  tenantOf: ({ org_id }) => org_id,
  load: async (reader, named) => {
    const rows = await reader.many(
      find(
        named.map(({ key_id }) => key_id),
        named.map(({ owner_id }) => owner_id),
        named.map(({ org_id }) => org_id),
      ),
    )
    const found: (Omit<Found, 'n'> | undefined)[] = named.map(() => undefined)
    for (const { n, ...row } of rows) found[n - 1] = row
    return found
  },
})
