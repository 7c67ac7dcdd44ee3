import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { pastValues } from '#rails/policies/policy-queries.ts'
import { parsePolicyValue } from '#rails/policies/policy-value.ts'
import type { KeyRow } from './signing-key-queries.ts'

const ageKey = 'auth.iam_token_issuer.jwks_max_age_seconds'

/** From the beginning of the transaction that a key is dated by to the last answer that went out without it. */
const settling_ms = 10_000

interface Announced {
  readonly age_seconds: number
  readonly created_at: string
  readonly replaced_at: string | null
}

/**
 * From when on everybody who keeps the key set no longer than he was told knows this key. Somebody may have fetched the set just before
 * the key came, under the age that was announced then, or long before under an older and longer one.
 */
export const usableAt = (staged_at: string, announced: readonly Announced[]): string => {
  const staged = Date.parse(staged_at)
  const ends = announced
    .filter(({ created_at }) => Date.parse(created_at) <= staged + settling_ms)
    .map(({ age_seconds, replaced_at }) => Math.min(replaced_at === null ? staged : Date.parse(replaced_at), staged) + age_seconds * 1000)
  return new Date(Math.max(staged, ...ends) + settling_ms).toISOString()
}

/** The same for a key that waits, by the ages that were ever announced. Nobody fetches a shared secret: it is usable at once. */
export const readUsableAt = async (work: Pick<Work, 'tx'>, { alg, created_at }: KeyRow): Promise<string> => {
  if (alg === 'HS256') return created_at
  const values = await work.tx.many(pastValues(ageKey))
  const announced = values.flatMap(({ value, ...when }) => {
    const age_seconds = parsePolicyValue(ageKey, value)
    // In place of what cannot be read nothing was announced at all: the document was refused.
    return age_seconds === undefined ? [] : [{ age_seconds, ...when }]
  })
  if (announced.length === 0) throw new Problem('policy_unavailable')
  return usableAt(created_at, announced)
}
