import type { Operation } from '@gatehouse/contract/operation'
import { machineClass } from '#rails/authz/actor-class.ts'
import { operatorAccess } from './operator-allowlist.ts'
import { tenantOfOperator } from './shared-runtime-queries.ts'

/** What the allowlist says of it (MI-10). */
const describe = (operation: Operation): string | undefined => {
  const access = operatorAccess(operation)
  if (!access) return undefined
  const where = access.is_delegated ? ', where the organization has delegated it to that runtime' : ''
  return `**On the allowlist** of shared-runtime operators, as \`${access.action}\`${where}.`
}

/** Everything of an operator is recorded, also that it looked; and what it was refused is its own tenant's business, wherever it knocked. */
export const runtimeOperators = {
  ...machineClass('shared_runtime_operator', 'an operator of a shared runtime'),
  reads: 'recorded',
  refused_at: 'home',
  home: tenantOfOperator,
  describe,
} as const
