import { actions, isAction } from '#rails/authz/actions.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import type { MachineClass } from './machine-class.ts'

/** Only what can be a key at all has its case changed: other scripts have letters whose small form is one of ours. */
const spelled = /^[A-Za-z0-9_.]+$/
const longest_key = Math.max(...Object.keys(actions).map((key) => key.length))

/**
 * The permission keys that a scope text names, in one order, each once. Items stand between spaces and nothing else is a separator: a
 * tab, another kind of blank or a star makes an item that is no key, and such an item asks for nothing.
 */
export const normaliseScope = (text: string): string[] => {
  const keys = new Set<string>()
  for (const item of text.split(' ')) {
    if (item.length === 0 || item.length > longest_key || !spelled.test(item)) continue
    const key = item.toLowerCase()
    if (isAction(key)) keys.add(key)
  }
  return [...keys].sort()
}

/** `*` in a policy is all that the class can carry. */
export const allowedFor = (actor_type: MachineClass, allowed: Readonly<Record<string, readonly string[]>>): ReadonlySet<string> => {
  const list = Object.hasOwn(allowed, actor_type) ? allowed[actor_type]! : []
  const all = carriedInTokens(actor_type)
  return list.includes('*') ? all : new Set(list.filter((key) => all.has(key)))
}
