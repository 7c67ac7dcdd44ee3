import type { listPolicyDefinitions as Op } from '@gatehouse/contract/policies'
import { type Answering, listed } from '#rails/http/answer.ts'
import { definitionOf } from '#rails/policies/policy-definitions.ts'
import { policyKeys } from './policy-keys.ts'
import { authorizeRead } from './policy-scope.ts'

/** From the code, which owns them; the table is a mirror. */
export const listPolicyDefinitions: Answering<typeof Op> = async (work, { slice }) => {
  await authorizeRead(work, 'policy_definition', {})
  const rows = policyKeys
    .filter((key) => slice.after === null || key > slice.after)
    .map((key) => {
      const { default: first = null, scopes, ...defined } = definitionOf(key)
      return { key, ...defined, scopes: [...scopes], default: first }
    })
  return listed(rows, slice, ({ key }) => key)
}
