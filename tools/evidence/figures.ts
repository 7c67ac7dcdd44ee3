// Every figure that somebody is promised, with the command that measures it. `docs/evidence.md` is generated from this table, from
// SECURITY.md and from the recorded runs.

export interface Figure {
  readonly claim: string
  /** The bound that a run has to keep. */
  readonly goal: string
  /** Requirements and threats that ask for it. */
  readonly asked_by: string
  readonly command: string
  /** The code that the figure speaks of: a figure is older than its code when this has changed since the run. */
  readonly paths: readonly string[]
}

const server = ['contract/src', 'server/src', 'db/migrations', 'db/grants.sql']
const engine = ['server/src/rails/authz', 'server/src/rails/policies']
const decisions = [
  ...engine,
  'server/src/desk/decisions',
  'server/src/ground/epochs',
  'server/src/rails/http',
  'server/src/ground/db',
  'server/src/ground/kernel',
]
const issuing = [
  'server/src/machines/tokens',
  'server/src/machines/oauth',
  'server/src/machines/keys',
  'server/src/rails/audit',
  'server/src/rails/http',
  'server/src/ground/db',
]

export const figures = {
  suite: {
    claim: '`npm test` is quick enough to run before each commit.',
    goal: 'at most 6 minutes on two quiet cores',
    asked_by: 'HO-02',
    command: 'npm run evidence -- suite',
    paths: [...server, 'agent/src', 'idp/src', 'test', 'tools', 'vitest.config.ts'],
  },
  worlds: {
    claim: 'The decision engine and the same rules in SQL give the same answer in random worlds.',
    goal: 'at least 10 000 000 worlds, 0 differences',
    asked_by: 'DE-04, DE-13',
    command: 'npm run campaign:worlds -- --record',
    paths: engine,
  },
  kills: {
    claim: 'A server process killed at any point of a change leaves effect, audit row and stored answer together or not at all.',
    goal: 'every operation at every point, at least 1 000 kills, `fsync` on, 0 violations',
    asked_by: 'AU-01, J1',
    command: 'npm run campaign:kills -- --fsync --record',
    paths: server,
  },
  'ended-connections': {
    claim: 'A database connection ended before any statement of a change leaves nothing half done.',
    goal: 'every operation at every statement, 0 faults',
    asked_by: 'HO-07, J2',
    command: 'npm run evidence -- ended-connections',
    paths: server,
  },
  'hostile-texts': {
    claim: 'Hostile texts in every parameter, query and member give a documented status.',
    goal: 'every text in every place, 0 faults',
    asked_by: 'HO-04',
    command: 'npm run evidence -- hostile-texts',
    paths: server,
  },
  revokes: {
    claim: 'A request that starts after a revoke was answered is not allowed by the revoked right, on any of three processes.',
    goal: 'at least 10 000 rounds, 0 allows; each control found',
    asked_by: 'DE-19',
    command: 'npm run campaign:revokes -- --record',
    paths: server,
  },
  attack: {
    claim: 'A stolen machine credential gives nothing after the act against it was answered.',
    goal: 'at least 10 000 rounds, 0 faults; each control found',
    asked_by: 'DE-19, TI-16',
    command: 'npm run campaign:attack -- --record',
    paths: server,
  },
  access: {
    claim: 'Nodes that lose, repeat and reorder tasks end with exactly the keys that they must have.',
    goal: 'at least 2 000 schedules, 0 faults',
    asked_by: 'SG-06, SG-10',
    command: 'npm run campaign:access -- --record',
    paths: server,
  },
  climb: {
    claim: 'No sequence of calls gives more than the rules allow.',
    goal: 'at least 1 000 sequences, 0 faults',
    asked_by: 'RP-19, RP-29',
    command: 'npm run evidence -- climb',
    paths: server,
  },
  mutants: {
    claim: 'The tests of `authz` and `policies` notice small mistakes in the code.',
    goal: 'at least 90 % found; each missed mutant has a reason',
    asked_by: 'DE-04',
    command: 'npm run campaign:mutants -- --record',
    paths: engine,
  },
  'ssh-revokes': {
    claim: 'A revoke ends the open SSH session and refuses the next login.',
    goal: 'p99 within 2 s of the answer',
    asked_by: 'SG-19',
    command: 'npm run campaign:ssh-revokes -- --box --record',
    paths: [
      'agent/src',
      'agent/systemd',
      'server/src/fleet/access-grants',
      'server/src/fleet/allocations',
      'server/src/fleet/node-tasks',
      'server/src/fleet/nodes',
    ],
  },
  'ssh-revokes-heavy': {
    claim: 'A revoke, or an end by time, does not wait for another tenant on the node.',
    goal: 'p99 within 2 s beside 2 000 sessions of 50 accounts and 10 homes of 60 000 files being removed',
    asked_by: 'SG-25',
    command: 'npm run campaign:ssh-revokes -- --box --sessions 2000 --accounts 50 --releases 10 --ends --record',
    paths: ['agent/src', 'agent/systemd'],
  },
  'decide-engines': {
    claim: 'A decision is faster than with casbin, CASL, cedar-wasm and opa-wasm.',
    goal: 'ahead of every peer, prepared and cold',
    asked_by: 'PR-08',
    command: 'npm run bench -- decide engines --record',
    paths: [...engine, 'server/src/ground/epochs'],
  },
  'decide-http': {
    claim: 'A decision over HTTP costs little beside a bare Fastify POST with the same schema.',
    goal: 'at least 60 % of its requests per second',
    asked_by: 'PR-08',
    command: 'npm run bench -- decide http --record',
    paths: decisions,
  },
  'decide-size': {
    claim: 'The cost of a decision hardly grows from 10 000 to 1 000 000 bindings.',
    goal: 'within 1.5× of the smallest world',
    asked_by: 'PR-08',
    command: 'npm run bench -- decide size --record',
    paths: decisions,
  },
  'tokens-issue': {
    claim: 'An audited, signed token is issued as fast as oidc-provider issues a signed one with a row.',
    goal: 'at least 1×',
    asked_by: 'PR-08',
    command: 'npm run bench -- tokens issue --record',
    paths: issuing,
  },
  'tokens-validate': {
    claim: 'A live token is checked as fast as oidc-provider introspects one from the same PostgreSQL.',
    goal: 'at least 1×',
    asked_by: 'PR-08',
    command: 'npm run bench -- tokens validate --record',
    paths: [...issuing, ...decisions],
  },
  'tokens-verify': {
    claim: 'A token seen before is verified much faster than with jose.',
    goal: 'at least 10×',
    asked_by: 'PR-08',
    command: 'npm run bench -- tokens verify --record',
    paths: ['server/src/machines/tokens', 'server/src/machines/keys'],
  },
  introspect: {
    claim: 'Introspection (RFC 7662) is quick enough for a busy resource server.',
    goal: 'at least 8 000 requests/s',
    asked_by: 'PR-08',
    command: 'npm run bench -- introspect --record',
    paths: issuing,
  },
  verify: {
    claim: 'The verification of a million audit rows takes seconds.',
    goal: 'at most 30 s',
    asked_by: 'AU-02',
    command: 'npm run bench -- verify --record',
    paths: ['server/src/rails/audit', 'server/src/ground/db'],
  },
} as const satisfies Record<string, Figure>

export type FigureName = keyof typeof figures
export const isFigure = (name: string): name is FigureName => Object.hasOwn(figures, name)
