import { globSync, readFileSync } from 'node:fs'
import { policyDefinitions } from '@gatehouse/server/rails/policies/policy-definitions'
import { jobs } from '@gatehouse/server/rooms'
import { type Bound, keptMaps, passingMaps, tableBounds } from './declared-bounds.ts'
import { type Document, tableOf } from './document.ts'

/** An empty map or set that a module or a factory makes: it may outlive the request that fills it. */
const made = /^(?: {2})?(?:export )?(?:const|let) (\w+).*(?:new (?:Map|Set)(?:<.*>)?\(\)|recentlyUsed<)/gm

/** Every table of the schema, and every such map of the server, by `file name`. */
export const growingThings = () => ({
  tables: [...readFileSync('db/schema.sql', 'utf8').matchAll(/^create table (\w+)/gm)].map(([, name]) => name!),
  maps: globSync('server/src/**/*.ts')
    .toSorted()
    .filter((path) => !path.endsWith('.test.ts') && !path.includes('/testing/'))
    .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(made)].map(([, name]) => `${path.replace(/^server\/src\//, '')} ${name}`)),
  jobs: new Set<string>(jobs.map(({ name }) => name)),
})

type Growing = ReturnType<typeof growingThings>

/** What is wrong with what was declared: something that grows and has no bound, or a bound of something that is not there. */
export const faultsIn = ({ tables, maps, jobs }: Growing, bounds = tableBounds, kept = keptMaps): string[] => {
  const declared = [...Object.keys(kept), ...passingMaps]
  return [
    ...tables.filter((name) => !bounds[name]).map((name) => `table ${name} has no bound`),
    ...Object.keys(bounds).flatMap((name) => (tables.includes(name) ? [] : [`there is no table ${name}`])),
    ...Object.entries(bounds).flatMap(([name, bound]) =>
      'prune' in bound && !jobs.has(bound.prune) ? [`${bound.prune}, which bounds ${name}, is no job of a room`] : [],
    ),
    ...Object.entries(bounds).flatMap(([name, bound]) =>
      'policy' in bound && !Object.hasOwn(policyDefinitions, bound.policy) ? [`${bound.policy}, which bounds ${name}, is no policy`] : [],
    ),
    ...maps.filter((name) => !declared.includes(name)).map((name) => `${name} has no bound, and is not declared to end with its call`),
    ...declared.flatMap((name) => (maps.includes(name) ? [] : [`there is no map or set ${name}`])),
  ]
}

const kindOf = (bound: Bound): string => {
  if ('policy' in bound) return `policy \`${bound.policy}\``
  if ('prune' in bound) return `prune job \`${bound.prune}\``
  return 'for_ever' in bound ? 'for ever' : 'fixed'
}
const noteOf = (bound: Bound): string => ('for_ever' in bound ? bound.for_ever : 'fixed' in bound ? bound.fixed : (bound.note ?? ''))

const make = async (): Promise<string> => {
  const growing = growingThings()
  const faults = faultsIn(growing)
  if (faults.length > 0) throw new Error(`tools/generate/declared-bounds.ts: ${faults.join('; ')}`)
  return [
    '# What bounds what grows',
    '',
    'Written by `npm run generate` from `tools/generate/declared-bounds.ts`, `db/schema.sql` and the sources. A table or a kept map without a bound fails it.',
    '',
    '## Tables',
    tableOf(
      ['table', 'bound', 'because'],
      growing.tables.map((name) => [name, kindOf(tableBounds[name]!), noteOf(tableBounds[name]!)]),
    ),
    '',
    '## Kept in memory',
    tableOf(
      ['map or set', 'bound'],
      Object.entries(keptMaps).map(([name, bound]) => [`\`${name}\``, bound]),
    ),
    '',
  ].join('\n')
}

export const boundsDocument: Document = { path: 'docs/generated/bounds.md', make }
