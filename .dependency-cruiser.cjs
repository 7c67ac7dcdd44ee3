// Which room may look into which. A new edge is a new word in this table, and so a line in a diff.
const rails = ['http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'telemetry', 'kernel']

const rooms = {
  kernel: [],
  telemetry: ['kernel'],
  db: ['kernel'],
  epochs: ['db', 'kernel'],
  work: ['db', 'kernel'],
  audit: ['work', 'db', 'kernel'],
  policies: ['epochs', 'db', 'kernel'],
  authz: ['policies', 'work', 'epochs', 'db', 'kernel'],
  http: ['authz', 'policies', 'audit', 'work', 'epochs', 'db', 'telemetry', 'kernel'],
  decisions: [...rails],
  tenancy: [...rails],
  principals: ['tenancy', ...rails],
  roles: ['principals', 'tenancy', ...rails],
  invitations: ['roles', 'principals', 'tenancy', ...rails],
  elevations: ['principals', 'tenancy', ...rails],
  'audit-trail': ['tenancy', ...rails],
  'policy-admin': ['tenancy', ...rails],
  custody: ['kernel'],
  keys: ['custody', ...rails],
  'service-accounts': ['keys', 'roles', 'tenancy', ...rails],
  installation: ['custody', 'audit', 'work', 'db', 'kernel'],
  'task-signers': ['custody', ...rails],
  nodes: ['task-signers', 'custody', ...rails],
  ops: ['nodes', ...rails],
  'node-tasks': ['nodes', 'task-signers', 'custody', ...rails],
  'ssh-keys': ['tenancy', ...rails],
  allocations: ['node-tasks', 'task-signers', 'nodes', 'ssh-keys', 'tenancy', ...rails],
  'access-grants': ['allocations', 'ssh-keys', 'task-signers', 'principals', 'tenancy', ...rails],
  'ssh-sessions': ['allocations', 'nodes', ...rails],
  deliveries: ['custody', ...rails],
  'shared-runtimes': ['allocations', 'tenancy', ...rails],
  'operator-credentials': ['shared-runtimes', 'service-accounts', 'roles', ...rails],
  'runtime-credentials': ['shared-runtimes', 'deliveries', 'custody', 'tenancy', ...rails],
  tokens: ['keys', 'operator-credentials', 'shared-runtimes', 'service-accounts', 'principals', 'tenancy', ...rails],
  oauth: ['tokens', 'keys', 'service-accounts', ...rails],
}

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
    ...packageRules,
    ...doorRules,
    {
      name: 'room-not-in-the-table',
      comment: 'a folder of a wing gets a line in the table before it imports anything',
      severity: 'error',
      from: { path: '^server/src/[^/]+/[^/]+/', pathNot: [inRooms(Object.keys(rooms)), tests] },
      to: {},
    },
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

// Not enumerable: dependency-cruiser refuses keys it does not know, and the generated drawing of the rooms needs the table.
Object.defineProperty(config, 'rooms', { value: rooms })

module.exports = config
