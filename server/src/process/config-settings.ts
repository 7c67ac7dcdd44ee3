/** Every setting there is. The server reads no other and refuses names it does not know (`config.ts`). */
export const configSettings = [
  {
    name: 'GATEHOUSE_PROFILE',
    default: 'production',
    is_secret: false,
    purpose: '`production` or `development`. Production refuses development keys, providers and seeded people.',
  },
  { name: 'GATEHOUSE_HOST', default: '127.0.0.1', is_secret: false, purpose: 'The address to listen on.' },
  { name: 'GATEHOUSE_PORT', default: '8090', is_secret: false, purpose: 'The port to listen on; 0 takes a free one.' },
  {
    name: 'GATEHOUSE_NODES_URL',
    default: 'https://localhost:8093',
    is_secret: false,
    purpose:
      'Under which address nodes reach their own door: it stands in enrolment tokens, and its host in the certificate that the door shows. Our own authority vouches for it, so nothing that ends TLS may stand in between.',
  },
  { name: 'GATEHOUSE_NODES_HOST', default: '127.0.0.1', is_secret: false, purpose: 'The address to listen on for nodes.' },
  {
    name: 'GATEHOUSE_NODES_PORT',
    default: '8093',
    is_secret: false,
    purpose: 'The port to listen on for nodes; 0 takes a free one.',
  },
  {
    name: 'GATEHOUSE_METRICS_HOST',
    default: '127.0.0.1',
    is_secret: false,
    purpose: 'The address to serve `/metrics` on, and nothing else. The API’s port has no metrics.',
  },
  {
    name: 'GATEHOUSE_METRICS_PORT',
    default: '9464',
    is_secret: false,
    purpose: 'The port to serve `/metrics` on; 0 takes a free one. Each process on a machine needs its own.',
  },
  {
    name: 'GATEHOUSE_TRUSTED_PROXIES',
    default: 'none',
    is_secret: false,
    purpose:
      'The proxies in front of the API, as CIDR ranges separated by commas. From them `X-Forwarded-For` is believed: its right-most address that is none of them is the client, for rules, limits, the slow-down and the audit record. The listener of the nodes never believes it.',
  },
  { name: 'GATEHOUSE_REGION', default: 'local', is_secret: false, purpose: 'The region in resource names.' },
  {
    name: 'GATEHOUSE_LOG_LEVEL',
    default: 'info',
    is_secret: false,
    purpose: '`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.',
  },
  {
    name: 'GATEHOUSE_OIDC_ISSUERS',
    default: null,
    is_secret: false,
    purpose:
      'JSON list of the identity providers whose access tokens are accepted: `issuer`, `audience`, and where they differ from RFC 9068 `profile` (`keycloak`), `algorithms`, `username_claim`, `email_claim`, `jwks_refresh_seconds`, `jwks_max_age_seconds`, `clock_skew_seconds`.',
  },
  {
    name: 'GATEHOUSE_KEY_ENCRYPTION_KEYS',
    default: 'none',
    is_secret: true,
    purpose:
      'The keys that seal secrets at rest: `id:key` items separated by commas, each key 32 random bytes in base64url. The first one seals, all of them open. Set this, its `_FILE` or its `_COMMAND`.',
  },
  {
    name: 'GATEHOUSE_KEY_ENCRYPTION_KEYS_FILE',
    default: 'none',
    is_secret: false,
    purpose: 'A file with the same items, one a line.',
  },
  {
    name: 'GATEHOUSE_KEY_ENCRYPTION_KEYS_COMMAND',
    default: 'none',
    is_secret: false,
    purpose: 'A program that prints the same items: the door to a KMS.',
  },
  {
    name: 'GATEHOUSE_PUBLIC_URL',
    default: null,
    is_secret: false,
    purpose:
      'Under which address others reach this installation: the `iss` of its tokens, below which their keys are found. It has no path. Production wants https; development takes `http://localhost:8090` where it is not set.',
  },
  {
    name: 'GATEHOUSE_TOKEN_AUDIENCE',
    default: 'gpuaas-api',
    is_secret: false,
    purpose: 'The `aud` of machine tokens that this API accepts.',
  },
  {
    name: 'GATEHOUSE_TOKEN_ALGORITHM',
    default: 'ES256',
    is_secret: false,
    purpose:
      'What the next signing key is made for: `ES256`, `EdDSA` (Ed25519), or for a migration `HS256` with the first key-encryption key, which only those can verify who hold that key.',
  },
  {
    name: 'GATEHOUSE_TRANSIT_URL',
    default: 'none',
    is_secret: false,
    purpose: 'The address of a Vault or OpenBao whose transit engine makes and keeps the signing keys; without it they are sealed here.',
  },
  {
    name: 'GATEHOUSE_TRANSIT_TOKEN_FILE',
    default: 'none',
    is_secret: false,
    purpose: 'A file with the token for it; read at each use, so that an agent may renew it.',
  },
  { name: 'GATEHOUSE_TRANSIT_MOUNT', default: 'transit', is_secret: false, purpose: 'Where the transit engine is mounted.' },
  { name: 'GATEHOUSE_TRANSIT_KEY', default: 'gatehouse', is_secret: false, purpose: 'The name of the key there.' },
  { name: 'GATEHOUSE_TRANSIT_NAMESPACE', default: 'none', is_secret: false, purpose: 'The namespace, where there are any.' },
  {
    name: 'GATEHOUSE_CHECKPOINT_FILE',
    default: null,
    is_secret: false,
    purpose:
      'Where signed checkpoints of the audit chains are appended: a file outside the database, best on storage that the database’s administrators cannot write. All processes of an installation share it.',
  },
  {
    name: 'GATEHOUSE_CHECKPOINT_SECONDS',
    default: '60',
    is_secret: false,
    purpose: 'How often a checkpoint is written where something happened: 1 to 3600.',
  },
  {
    name: 'GATEHOUSE_DRAIN_SECONDS',
    default: '0',
    is_secret: false,
    purpose:
      'How long a stopping server says that it is not ready before it closes its port, so that a load balancer can look away: 0 to 300.',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    default: 'none',
    is_secret: false,
    purpose:
      'The base address of an OTLP/HTTP collector; traces are sent to it. Other `OTEL_` settings (headers, sampler, batches) are read by the OpenTelemetry library under their standard names.',
  },
  {
    name: 'GATEHOUSE_LIFELINE',
    default: 'none',
    is_secret: false,
    purpose: '`stdin`: drain and stop when standard input ends, so that no server outlives the process that started it.',
  },
  {
    name: 'DATABASE_URL',
    default: null,
    is_secret: true,
    purpose: 'PostgreSQL 15 or newer, as the role that owns nothing. TLS by `sslmode`, `sslrootcert`, `sslcert`, `sslkey` in the URL.',
  },
  {
    name: 'DATABASE_OWNER_URL',
    default: 'none',
    is_secret: true,
    purpose:
      'The same database as the role that owns the tables. If given, the server migrates when it starts; otherwise it refuses to start on an older schema.',
  },
] as const
