import { Problem } from '#ground/kernel/problem.ts'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import { toldName } from './validation.ts'

/** Where credentials belong; no operation has them anywhere but at the top of its body. */
const credentialFields = new Set([
  ...['client_secret', 'client_assertion', 'token', 'subject_token', 'actor_token', 'enrolment_token', 'wrapping_token'],
  // What is left to be kept sealed, whatever it is.
  'secret',
])

/** Read by whoever answers, who keeps nothing of what is no public key and says so in a way of his own. */
const readByVerb = new Set(['public_key'])

/** Under which names a secret stands within a value, or in a name itself. */
const fieldsWithSecret = (value: unknown, path: readonly string[]): string[] => {
  if (typeof value === 'string') return holdsSecret(value) ? [path.map(toldName).join('/').slice(0, 200)] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    if (path.length === 0 && (credentialFields.has(name) || readByVerb.has(name))) return []
    const within = [...path, name]
    return holdsSecret(name) ? fieldsWithSecret(name, within) : fieldsWithSecret(member, within)
  })
}

/** Whether there is anything to look for: almost never. */
const holdsAny = (value: unknown): boolean => {
  if (typeof value === 'string') return holdsSecret(value)
  if (typeof value !== 'object' || value === null) return false
  for (const name in value) if (holdsSecret(name) || holdsAny((value as Record<string, unknown>)[name])) return true
  return false
}

/** What people write, a reason or a name, is kept and read by others. A secret that strays into it is refused while it can be. */
export const requireNoSecretIn = (body: unknown): void => {
  if (!holdsAny(body)) return
  const fields = fieldsWithSecret(body, [])
  if (fields.length > 0)
    throw new Problem(
      'validation_error',
      fields.slice(0, 50).map((field) => ({ in: 'body', field, message: 'holds a secret' })),
    )
}
