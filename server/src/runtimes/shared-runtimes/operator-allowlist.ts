import type { Operation } from '@gatehouse/contract/operation'
import { type Action, classKeys, delegatedKeys, isAction, operatorKeys } from '#rails/authz/actions.ts'

export interface OperatorAccess {
  readonly operation: Operation
  /** The one of its actions that an operator can have. */
  readonly action: Action
  /** Only where the tenant has delegated it to that runtime. */
  readonly is_delegated: boolean
}

const delegated: ReadonlySet<string> = new Set(Object.values(delegatedKeys))
const ofOperators: ReadonlySet<string> = new Set([...operatorKeys, ...delegated, ...(classKeys.shared_runtime_operator ?? [])])

/** What an operator may ask by an operation, if that admits operators: being named among its actors is being on the list, and nothing else is. */
export const operatorAccess = (operation: Operation): OperatorAccess | undefined => {
  if (!operation.actors.includes('shared_runtime_operator')) return undefined
  const action = operation.actions.filter(isAction).find((key) => ofOperators.has(key))
  if (action === undefined) throw new Error(`${operation.id} admits operators and asks for nothing that one can have`)
  return { operation, action, is_delegated: delegated.has(action) }
}
