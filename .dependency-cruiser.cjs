const { readdirSync, readFileSync } = require('node:fs')
const { join } = require('node:path')

// Which room may look into which, and into which of its files: as each room says at its door, server/src/<wing>/<room>/room.ts. Read as
// text, since a check of the imports must not depend on the imports; test/house compares it with the values.
const source = join(__dirname, 'server/src')
const foldersIn = (path) => readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
const listIn = (text, part) =>
  [...(new RegExp(`^  ${part}: \\[([^\\]]*)\\]`, 'm').exec(text)?.[1] ?? '').matchAll(/'([^']+)'/g)].map(([, name]) => name)
const doorsOfRooms = foldersIn(source).flatMap((wing) =>
  wing === 'process'
    ? []
    : foldersIn(join(source, wing)).map((room) => {
        const text = readFileSync(join(source, wing, room, 'room.ts'), 'utf8')
        return { room, sees: listIn(text, 'sees'), shows: listIn(text, 'shows') }
      }),
)
const rooms = Object.fromEntries(doorsOfRooms.map(({ room, sees }) => [room, sees]))

// Processes meet in the contract and nowhere else; what drives them from outside may import them.
const packages = {
  contract: [],
  server: ['contract'],
  idp: [],
  agent: ['contract'],
  examples: ['contract'],
  tools: ['contract', 'server', 'idp', 'agent'],
  test: ['contract', 'server', 'idp', 'agent', 'tools'],
}

// Libraries that one room alone may speak to.
const doors = [
  { library: 'pg', room: 'db' },
  { library: 'pg-copy-streams', room: 'db' },
  { library: 'fastify', room: 'http' },
  { library: '@fastify/[^/]+', room: 'http' },
  { library: '@peculiar/x509', room: 'nodes' },
  { library: '@prometheus-io/client', room: 'telemetry' },
  { library: '@opentelemetry/[^/]+', room: 'telemetry' },
]

const anyOf = (names) => `(?:${names.join('|')})`
// A room stands in a wing: server/src/<wing>/<room>/.
const inRooms = (names) => `^server/src/[^/]+/${anyOf(names)}/`
// A test sits beside the code and may build its world from anywhere.
const tests = '\\.test\\.ts$'
const outside = ['^tools/', '^test/', tests]
const npm = (library) => `(?:^|/)node_modules/(?:@types/)?${library}/`

const roomRules = Object.entries(rooms).map(([room, sees]) => ({
  name: `room-${room}`,
  comment: `${room} sees ${sees.length > 0 ? sees.join(', ') : 'no other room'}`,
  severity: 'error',
  from: { path: inRooms([room]), pathNot: tests },
  to: { path: '^server/src/', pathNot: inRooms([room, ...sees]) },
}))

const shownRules = doorsOfRooms.map(({ room, shows }) => ({
  name: `shown-by-${room}`,
  comment: `other rooms import what ${room} shows: its door says which files`,
  severity: 'error',
  from: { path: '^server/src/', pathNot: [inRooms([room]), tests, '/testing/'] },
  to: { path: inRooms([room]), pathNot: `/${room}/${anyOf(['room.ts', ...shows].map((file) => file.replaceAll('.', '\\.')))}$` },
}))

const packageRules = Object.entries(packages).map(([name, sees]) => ({
  name: `package-${name}`,
  comment: `${name} imports ${sees.length > 0 ? sees.join(', ') : 'no other package'}`,
  severity: 'error',
  from: { path: `^${name}/`, pathNot: tests },
  to: { path: `^${anyOf(Object.keys(packages))}/`, pathNot: `^${anyOf([name, ...sees])}/` },
}))

const doorRules = doors.map(({ library, room }) => ({
  name: `only-${room}-imports-${library.replace('/[^/]+', '')}`,
  severity: 'error',
  from: { path: '.', pathNot: [inRooms([room]), ...outside] },
  to: { path: npm(library) },
}))

const config = {
  forbidden: [
    ...roomRules,
    ...shownRules,
    ...packageRules,
    ...doorRules,
    {
      name: 'contract-imports-typebox-only',
      severity: 'error',
      from: { path: '^contract/', pathNot: tests },
      to: { pathNot: ['^contract/', npm('typebox')] },
    },
    {
      name: 'agent-imports-contract-and-node-only',
      comment: 'what a node runs as root is ours, to the last line that the contract does not bring',
      severity: 'error',
      from: { path: '^agent/', pathNot: tests },
      to: { pathNot: ['^agent/', '^contract/'], dependencyTypesNot: ['core'] },
    },
    {
      name: 'examples-import-contract-and-node-only',
      comment: 'what somebody else could write as well: with the contract in hand, and nothing of ours besides',
      severity: 'error',
      from: { path: '^examples/', pathNot: tests },
      to: { pathNot: ['^examples/', '^contract/'], dependencyTypesNot: ['core'] },
    },
    {
      name: 'no-test-in-the-product',
      severity: 'error',
      from: { pathNot: outside },
      to: { path: [tests, '^test/'] },
    },
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphan',
      severity: 'error',
      from: { orphan: true, pathNot: [tests, '\\.d\\.ts$', '^tools/[^/]+$'] },
      to: {},
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(?:^|/)(?:coverage|\\.gatehouse)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
}

module.exports = config
