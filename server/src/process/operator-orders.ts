import { userInfo } from 'node:os'
import { setPolicyValueByOrder } from '#desk/policy-admin/set-policy-value-by-order.ts'
import { onPolicyChanged } from '#fleet/allocations/terms-changed.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { systemWork, type Work } from '#ground/work/work.ts'
import { bindByOrder, unbindByOrder } from '#people/roles/platform-operator.ts'
import { record } from '#rails/audit/record.ts'
import type { OpenInstallation } from './open-installation.ts'

/** An order that lacks something, or cannot be carried out. */
class OrderIncomplete extends Error {
  override readonly name = 'OrderIncomplete'
}

type Words = Readonly<Record<string, string | boolean | undefined>>

const required = (words: Words, name: string, pattern: RegExp, what: string): string => {
  const given = words[name]
  if (typeof given !== 'string' || !pattern.test(given)) throw new OrderIncomplete(`--${name} is required: ${what}.`)
  return given
}
const correlation = /^[A-Za-z0-9._:-]{1,128}$/
const text = /^(?=.*\S)[^\p{Cc}]{1,500}$/u

/** Whose account on this machine runs the command; without a name its number. */
const operator = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Values are JSON; a word that is none stands for itself, so that nobody has to quote twice. */
const valueFrom = (given: string): unknown => {
  try {
    return JSON.parse(given)
  } catch {
    return given
  }
}

/** Under which name an order is recorded, what it needs, and what it says when it is done or there is nothing to do. */
interface Order {
  readonly cause: string
  readonly action: string
  readonly resource_type: string
  readonly carryOut: (work: Work, words: Words) => Promise<string>
  /** Refusals that mean that everything is as ordered already. */
  readonly already?: Partial<Record<Problem['code'], string>>
}

const platformOrder = (words: Words) => ({
  user: required(words, 'user', text, 'an id, a verified e-mail address or issuer#subject'),
  role_name: required(words, 'role', text, 'the name of a platform role'),
  reason: required(words, 'reason', text, 'why, for the record'),
  operator: operator(),
})

const sentences: Partial<Record<Problem['code'], string>> = {
  binding_not_found: 'The person is not bound to this role.',
  last_owner: 'The last superadmin who is not disabled stays; bind another one first.',
  role_not_found: 'There is no such platform role.',
  policy_not_found: 'There is no such policy.',
}

export const operatorOrders: Readonly<Record<string, Order>> = {
  'bind-platform-role': {
    cause: 'bind_platform_role',
    action: 'role_binding.create',
    resource_type: 'role_binding',
    carryOut: async (work, words) => `${await bindByOrder(work, platformOrder(words))} is bound to ${words.role}.`,
    already: { binding_already_exists: 'The person is already bound to this role; nothing was changed.' },
  },
  'revoke-platform-role': {
    cause: 'revoke_platform_role',
    action: 'role_binding.end',
    resource_type: 'role_binding',
    carryOut: async (work, words) => `${await unbindByOrder(work, platformOrder(words))} is no longer bound to ${words.role}.`,
  },
  'set-policy-value': {
    cause: 'set_policy_value',
    action: 'policy.value.set',
    resource_type: 'policy_value',
    carryOut: async (work, words) => {
      const { key, version } = await setPolicyValueByOrder(
        work,
        { onPolicyChanged: [onPolicyChanged] },
        {
          key: required(words, 'key', text, 'the key of a policy'),
          value: valueFrom(required(words, 'value', /^.{1,16384}$/s, 'its value, as JSON')),
          reason: required(words, 'reason', text, 'why, for the record'),
          operator: operator(),
        },
      )
      return `${key} is set (version ${version}).`
    },
  },
}

/** Carries an order out as the product itself, in one transaction with its record; a refusal is recorded too. */
export const carryOut = async (
  { database, append }: Pick<OpenInstallation, 'database' | 'append'>,
  order: Order,
  words: Words,
): Promise<string> => {
  const { cause, action, resource_type, already = {} } = order
  const correlation_id = required(words, 'correlation-id', correlation, '1 to 128 letters, digits and . _ : -')
  const asOrdered = (act: (work: Work) => Promise<string>) =>
    database.transaction('write', async (tx) => {
      const work = systemWork(tx, cause, correlation_id)
      const said = await act(work)
      await append(work)
      return said
    })
  try {
    return await asOrdered((work) => order.carryOut(work, words))
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const { code, details, message } = error
    const nothingToDo = already[code]
    if (nothingToDo !== undefined) return nothingToDo
    await asOrdered(async (work) => {
      const ordered = { user: words.user, role_name: words.role, key: words.key, reason: words.reason, operator: operator() }
      record(work, { action, resource_type, resource_id: null, result: 'denied', reason_code: code, severity: 'high', metadata: ordered })
      return ''
    })
    throw new OrderIncomplete(`${sentences[code] ?? message}${details === undefined ? '' : ` ${JSON.stringify(details)}`}`)
  }
}
