import { Problem } from '#ground/kernel/problem.ts'
import { builtinRoleNames } from '#rails/authz/catalogue.ts'

/**
 * What reads like a Latin letter: letters of other scripts after the confusables of Unicode (UTS 39), digits and signs. Letters that decompose
 * need no entry. One stroke is one stroke: `l` is an `i`.
 */
const lookalikesOf: Readonly<Record<string, string>> = {
  ...{ a: 'аαɑ4@', b: 'вьβƅ68', c: 'сϲᴄ', d: 'ԁɗ', e: 'еεєҽ3€', g: 'ɡց9' },
  ...{ h: 'нһհ', i: 'іιıӏɩ1!|l', j: 'јϳ', k: 'кκ', m: 'м', n: 'ոпη' },
  ...{ o: 'оοσօᴏø0', p: 'рρ', q: 'ԛ', r: 'гᴦ', s: 'ѕꜱ5$', ss: 'ß' },
  ...{ t: 'тτᴛ7+', u: 'υսᴜ', v: 'νѵᴠ', w: 'ѡωᴡ', x: 'хχ', y: 'уγү' },
  ...{ z: 'ᴢ2' },
}
const lookalikes: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(lookalikesOf).flatMap(([letter, others]) => [...others].map((other) => [other, letter])),
)

/**
 * What a name looks like to somebody who reads it in a hurry: no separators, no case, no marks, one letter for all that look alike. Two
 * names with one skeleton are taken for each other.
 */
export const skeletonOf = (name: string): string =>
  [...name.normalize('NFKD').toLowerCase()]
    .map((letter) => lookalikes[letter] ?? letter)
    .join('')
    .replaceAll(/[^\p{L}]/gu, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    // An l is an i by now: cl looks like d.
    .replaceAll('ci', 'd')
    .replaceAll('uu', 'w')
    .replaceAll('nn', 'm')

/** People say organization where the tables of roles say tenant. */
const asTenants = (skeleton: string): string => skeleton.replace(/^(?:organi[zs]ations?|orgs?|tenants)(?=.)/, 'tenant')
const builtins = new Map<string, string>(builtinRoleNames.map((name) => [asTenants(skeletonOf(name)), name]))

/** Words for all power, which no role of one organization has. */
const all_powerful = ['superadmin', 'superuser', 'superadministrator', 'platformadmin', 'platformowner', 'sysadmin', 'systemadmin'].map(
  skeletonOf,
)
const as_a_whole = ['root', 'sudo', 'admin', 'administrator', 'owner', 'platform', 'system', 'gatehouse', 'builtin'].map(skeletonOf)

/** The built-in role, or the claim, that a name could be mistaken for. */
export const imitatedBy = (name: string): string | undefined => {
  const skeleton = skeletonOf(name)
  const builtin = builtins.get(asTenants(skeleton))
  if (builtin !== undefined) return `the built-in role ${builtin}`
  const word = all_powerful.some((each) => skeleton.includes(each)) || as_a_whole.includes(skeleton)
  return word ? 'a role of the platform' : undefined
}

/** Who reads the name of a role must know whose it is, and about how much it gives (RP-34). */
export const requireNameOfItsOwn = (name: string): void => {
  const imitated = imitatedBy(name)
  if (imitated !== undefined)
    throw new Problem('validation_error', [{ in: 'body', field: 'name', message: `can be mistaken for ${imitated}; choose another name` }])
}
