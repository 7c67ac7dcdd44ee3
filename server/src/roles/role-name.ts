import { builtinRoleNames } from '../authz/catalogue.ts'
import { Problem } from '../kernel/problem.ts'

/** Letters of other scripts that read like Latin ones, after the confusables of Unicode (UTS 39); what decomposes needs no line here. */
const lookalikes: Readonly<Record<string, string>> = {
  ...{ а: 'a', α: 'a', ɑ: 'a', в: 'b', ь: 'b', β: 'b', ƅ: 'b', с: 'c', ϲ: 'c', ᴄ: 'c', ԁ: 'd', ɗ: 'd', е: 'e', ε: 'e', є: 'e', ҽ: 'e' },
  ...{
    ɡ: 'g',
    ց: 'g',
    н: 'h',
    һ: 'h',
    հ: 'h',
    і: 'i',
    ι: 'i',
    ı: 'i',
    ӏ: 'i',
    ɩ: 'i',
    ј: 'j',
    ϳ: 'j',
    к: 'k',
    κ: 'k',
    м: 'm',
    ո: 'n',
    п: 'n',
  },
  ...{
    η: 'n',
    о: 'o',
    ο: 'o',
    σ: 'o',
    օ: 'o',
    ᴏ: 'o',
    ø: 'o',
    р: 'p',
    ρ: 'p',
    ԛ: 'q',
    г: 'r',
    ᴦ: 'r',
    ѕ: 's',
    ꜱ: 's',
    т: 't',
    τ: 't',
    ᴛ: 't',
  },
  ...{ υ: 'u', ս: 'u', ᴜ: 'u', ν: 'v', ѵ: 'v', ᴠ: 'v', ѡ: 'w', ω: 'w', ᴡ: 'w', х: 'x', χ: 'x', у: 'y', γ: 'y', ү: 'y', ᴢ: 'z', ß: 'ss' },
  ...{ '0': 'o', '1': 'i', '2': 'z', '3': 'e', '4': 'a', '5': 's', '6': 'b', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '!': 'i', '|': 'i', '€': 'e', '+': 't' },
  // One stroke is one stroke, whichever letter is meant.
  l: 'i',
}

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
