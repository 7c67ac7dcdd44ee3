/**
 * Every limit the product knows: its type, bounds, purpose, where it may be set and which direction is stricter. The code owns
 * them; the table is a mirror. `default` is written as the global value once; it is never read in place of a missing one.
 */
interface Defined {
  readonly type: 'integer' | 'integer_or_null' | 'number' | 'boolean' | 'string_list' | 'scope_map' | 'choice'
  readonly purpose: string
  readonly default?: unknown
  readonly bounds?: {
    readonly minimum?: number
    readonly maximum?: number
    readonly max_items?: number
    readonly choices?: readonly string[]
  }
  readonly scopes?: readonly ('global' | 'tenant' | 'project')[]
  readonly direction?: 'global' | 'tighten_lower' | 'tighten_upper' | 'most_specific'
}

/** A whole number within bounds; the key says of what. */
const whole = (purpose: string, value: number | undefined, minimum: number, maximum: number): Defined & { type: 'integer' } => ({
  type: 'integer',
  purpose,
  ...(value === undefined ? {} : { default: value }),
  bounds: { minimum, maximum },
})
const seconds = whole
const milliseconds = whole
const count = whole
const perMinute = (purpose: string, value: number) => whole(purpose, value, 1, 10_000_000)
/** The same, or null: no limit of its own. */
const wholeOrNull = (purpose: string, minimum: number, maximum: number): Defined & { type: 'integer_or_null' } => ({
  ...{ type: 'integer_or_null', purpose, default: null },
  bounds: { minimum, maximum },
})
/** A tenant or project may live by less than the platform allows, never by more. */
const lessBelow = { scopes: ['global', 'tenant', 'project'], direction: 'tighten_lower' } as const
const lessInTenants = { scopes: ['global', 'tenant'], direction: 'tighten_lower' } as const

export const policyDefinitions = {
  'auth.service_account_token_ttl_seconds': {
    ...seconds('Lifetime of service-account and shared-runtime operator tokens.', 3600, 60, 86_400),
    ...lessBelow,
  },
  'auth.service_account_max_keys': {
    ...count('How many keys that still count one service account may have.', 10, 1, 100),
    ...lessBelow,
  },
  'auth.max_service_accounts_per_project': {
    ...count('How many service accounts that are not deleted one project may have.', 1000, 1, 100_000),
    ...lessBelow,
  },
  'auth.expired_token_retention_seconds': seconds(
    'How long the row of a machine token is kept after it expired; the record of its issuance stays.',
    604_800,
    86_400,
    31_536_000,
  ),
  'auth.max_operator_credentials_per_runtime': {
    ...count('How many credentials that still count the operator of one shared runtime may have.', 10, 1, 100),
    ...lessInTenants,
  },
  'auth.iam_token_issuer.default_ttl_seconds': seconds('Lifetime of every other machine token when none is asked for.', 900, 60, 86_400),
  'auth.iam_token_issuer.max_ttl_seconds': seconds('No machine token lives longer.', 3600, 60, 86_400),
  'auth.iam_token_issuer.jwks_max_age_seconds': seconds(
    'How long others may keep the published key set; a new key waits as long before it signs.',
    300,
    1,
    86_400,
  ),
  'auth.iam_token_issuer.allowed_audiences': {
    type: 'string_list',
    purpose: 'Audiences that a machine token may name.',
    default: ['gpuaas-api'],
    bounds: { max_items: 50 },
  },
  'auth.iam_token_issuer.allowed_scopes': {
    type: 'scope_map',
    purpose:
      'Per class of actor, the permission keys that its tokens may carry; `*` is all that the class can hold. A class that is left out carries nothing.',
    default: { service_account: ['*'], shared_runtime_operator: ['*'], workload: ['*'], node_agent: ['*'], platform_operator: ['*'] },
    bounds: { max_items: 200 },
  },
  'auth.iam_token_issuer.provider_session_ttl_seconds': {
    ...seconds('Lifetime of brokered provider sessions.', 3600, 60, 43_200),
    ...lessBelow,
  },
  'auth.wrong_secret.first_delay_milliseconds': milliseconds('How late the first wrong secret is answered.', 100, 0, 5000),
  'auth.wrong_secret.longest_delay_milliseconds': milliseconds(
    'Each further wrong secret for the same key from the same network is answered twice as late as the one before, but never later than this.',
    5000,
    0,
    30_000,
  ),
  'auth.wrong_secret.most_waiting': count(
    'How many wrong secrets for one key from one network wait for their answer at a time; further ones are told to come later.',
    4,
    1,
    1000,
  ),
  'auth.wrong_secret.most_waiting_in_all': count('The same for all keys and networks together, in each process.', 500, 1, 100_000),
  'auth.wrong_secret.forget_seconds': seconds(
    'How long after the last wrong secret the next one counts as the first again.',
    900,
    1,
    86_400,
  ),
  'auth.client_assertion_max_ttl_seconds': seconds(
    'How far ahead the end of an assertion may lie by which a client says who it is.',
    300,
    10,
    3600,
  ),
  'auth.dpop_proof_window_seconds': seconds(
    'How old a DPoP proof may be, and how far ahead of the database’s clock its maker’s may go.',
    60,
    5,
    300,
  ),
  'auth.token_exchange_max_depth': count('How many times in a row a token may be exchanged for a narrower one.', 4, 1, 8),
  'tenancy.invitation_ttl_seconds': {
    ...seconds('How long an invitation waits to be accepted.', 604_800, 3600, 2_592_000),
    scopes: ['global', 'tenant', 'project'],
    direction: 'most_specific',
  },
  'tenancy.personal_organizations': {
    type: 'boolean',
    purpose: 'Whether the first sign-in of a person makes a personal organization with a project `default`.',
    default: true,
  },
  'access.max_ssh_keys': count('How many SSH keys one person, or the automation of one project, may have registered.', 50, 1, 1000),
  // With the fifty keys that an allocation may have of its own, fewer than a node is sent at once.
  'access.max_grants_per_allocation': count('How many access grants one allocation may have at a time.', 100, 1, 900),
  // At least 40: a node must be able to have 2 000 sessions of 50 allocations.
  'access.max_sessions_per_allocation': {
    ...count('How many SSH sessions one allocation may have at a time.', 64, 1, 1000),
    ...lessBelow,
  },
  'access.session_tasks_max': {
    ...count('How many tasks (processes and threads) the sessions of one allocation may have together.', 4096, 16, 4_194_304),
    ...lessBelow,
  },
  'access.session_memory_max_bytes': {
    ...wholeOrNull(
      'How much memory the sessions of one allocation may take up together; null leaves it to the node.',
      67_108_864,
      1_125_899_906_842_624,
    ),
    ...lessBelow,
  },
  'access.required_key_kinds': {
    type: 'choice',
    purpose: 'Which SSH keys open allocations: any, security keys (`sk-`), or security keys that verify their holder at each login.',
    default: 'any',
    // From the loosest to the strictest.
    bounds: { choices: ['any', 'security_key', 'security_key_verified'] },
    scopes: ['global', 'tenant', 'project'],
    direction: 'tighten_upper',
  },
  'allocations.max_requested_per_project': count('How many allocations of one project may wait for a node at a time.', 100, 0, 10_000),
  'shared_runtimes.max_credentials_per_runtime': {
    ...count('How many secrets that still count may be left for one shared runtime.', 50, 0, 1000),
    ...lessInTenants,
  },
  'deliveries.max_waiting_per_requester': {
    ...count('How many wrapped deliveries may wait at a time for one who asked for them.', 20, 1, 1000),
    ...lessBelow,
  },
  'deliveries.ttl_seconds': {
    ...seconds('How long a wrapped delivery waits to be opened.', 60, 5, 600),
    ...lessBelow,
  },
  'rate_limit.api_requests_per_minute': perMinute('Requests a minute for one person.', 600),
  'rate_limit.machine_requests_per_minute': perMinute(
    'Requests a minute for one machine actor: so many with its tokens, and so many with its own credential.',
    6000,
  ),
  'rate_limit.decision_requests_per_minute': perMinute('Decision requests a minute for one caller.', 600_000),
  'rate_limit.anonymous_requests_per_minute': perMinute('Requests a minute from one address without a valid token.', 1200),
  'authorization.break_glass_max_seconds': seconds('Longest break-glass elevation.', 3600, 60, 86_400),
  'authorization.break_glass_single_person': {
    type: 'boolean',
    purpose: 'Whether people may grant elevations that they asked for themselves.',
    default: false,
  },
  'authorization.platform_role_source': {
    type: 'choice',
    purpose: 'Where platform roles come from: the old column of users, bindings, or in transition the column for who was never bound.',
    default: 'bindings',
    bounds: { choices: ['users_role', 'transition', 'bindings'] },
  },
  'authorization.opa.parity_ratio': {
    type: 'number',
    purpose: 'Share of equal decisions that OPA must reach before it may enforce.',
    default: 0.9999,
    bounds: { minimum: 0, maximum: 1 },
  },
  'authorization.opa.parity_window_seconds': seconds('The window in which that share is measured.', 86_400, 60, 2_592_000),
  'authorization.opa.parity_min_samples': count('Fewer decisions than this in the window prove nothing.', 10_000, 1, 1_000_000_000),
  // Defined without a value on purpose: graceful disable is refused until an operator sets it.
  'authorization.role_disable_grace_window_seconds': seconds(
    'How long bindings of a gracefully disabled role stay valid.',
    undefined,
    0,
    2_592_000,
  ),
} as const satisfies Record<string, Defined>

export type PolicyKey = keyof typeof policyDefinitions

interface Shapes {
  integer: number
  integer_or_null: number | null
  number: number
  boolean: boolean
  string_list: readonly string[]
  scope_map: Readonly<Record<string, readonly string[]>>
  choice: string
}
export type PolicyValue<K extends PolicyKey> = Shapes[(typeof policyDefinitions)[K]['type']]

export const definitionOf = (key: PolicyKey): Required<Omit<Defined, 'default'>> & { default?: unknown } => ({
  bounds: {},
  scopes: ['global'],
  direction: 'global',
  ...(policyDefinitions[key] as Defined),
})
