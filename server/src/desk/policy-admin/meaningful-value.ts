import { type ActorType, actorTypes } from '@gatehouse/contract/operation'
import { isAction } from '#rails/authz/actions.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import type { PolicyKey } from '#rails/policies/policy-definitions.ts'

/** Why a value of the right type means nothing. */
export interface Fault {
  readonly detail: 'empty' | 'unknown_class' | 'unknown_key' | 'unfit_key' | 'malformed_audience' | 'repeated'
  readonly value?: string
  readonly allowed?: string[]
}

/** The classes of actors that tokens are issued to. People bring tokens of their identity provider. */
const classes = actorTypes.filter((type) => type !== 'user')
const every_key = '*'

const repeatedIn = (list: readonly string[]): Fault | undefined => {
  const value = list.find((each, index) => list.indexOf(each) !== index)
  return value === undefined ? undefined : { detail: 'repeated', value }
}

/** As a request for a token may spell one. */
const audience = /^[!-~]{1,200}$/

const faultOfAudiences = (list: readonly string[]): Fault | undefined => {
  // A star is no pattern here: it would be an audience of that name, and nobody's.
  const value = list.find((each) => !audience.test(each) || each.includes(every_key))
  if (list.length === 0) return { detail: 'empty' }
  return value === undefined ? repeatedIn(list) : { detail: 'malformed_audience', value: value.slice(0, 100) }
}

/** A class that is to carry nothing is left out: an empty list looks like one that somebody forgot to fill. */
const faultOfScopes = (map: Readonly<Record<string, readonly string[]>>): Fault | undefined => {
  if (Object.keys(map).length === 0) return { detail: 'empty', allowed: classes }
  for (const [name, keys] of Object.entries(map)) {
    if (!classes.some((each) => each === name)) return { detail: 'unknown_class', value: name.slice(0, 100), allowed: classes }
    if (keys.length === 0) return { detail: 'empty', value: name }
    const unknown = keys.find((key) => key !== every_key && !isAction(key))
    if (unknown !== undefined) return { detail: 'unknown_key', value: unknown.slice(0, 100) }
    const carried = carriedInTokens(name as ActorType)
    const unfit = keys.find((key) => key !== every_key && !carried.has(key))
    if (unfit !== undefined) return { detail: 'unfit_key', value: unfit, allowed: [every_key, ...carried].sort() }
    if (keys.includes(every_key) && keys.length > 1) return { detail: 'repeated', value: every_key }
    const repeated = repeatedIn(keys)
    if (repeated) return repeated
  }
  return undefined
}

/**
 * Looked at when a value is written. A typing error in these two keys would be in force at once, and would stop the issue of tokens
 * everywhere. What was stored before is read as it is: an upgrade must not make a policy unreadable.
 */
export const faultOf = (key: PolicyKey, value: unknown): Fault | undefined => {
  if (key === 'auth.iam_token_issuer.allowed_audiences') return faultOfAudiences(value as string[])
  if (key === 'auth.iam_token_issuer.allowed_scopes') return faultOfScopes(value as Record<string, string[]>)
  return undefined
}
