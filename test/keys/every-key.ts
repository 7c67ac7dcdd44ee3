import fc from 'fast-check'
import { canonicalJson } from '../../contract/src/canonical-json.ts'
import { actorTypes } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { want } from '../../server/src/ground/epochs/fresh.ts'
import { networkOf } from '../../server/src/ground/kernel/networks.ts'
import { Secret } from '../../server/src/ground/kernel/secret.ts'
import { hashedRequests, requestHash } from '../../server/src/rails/http/idempotency.ts'
import { rateKey } from '../../server/src/rails/http/rate.ts'
import { policyDefinitions } from '../../server/src/rails/policies/policy-definitions.ts'
import { keptSources } from '../replicas/kept-sources.ts'

/** A name that is made of several values. Inputs can be sent to another process as JSON. */
export interface Keyed {
  readonly drawn: fc.Arbitrary<unknown>
  readonly keyOf: (input: never) => string
  /** What of an input counts; without it, all. */
  readonly meaningOf?: (input: never) => unknown
}

/** Ids are UUIDs wherever they come from: schemas and columns have no others. So many that differ in one digit, or in its place. */
const near = (most: number) =>
  fc
    .integer({ min: 0, max: most - 1 })
    .map((n) => `01990000-0000-7000-8000-${n % 2 ? '0000000000' : '1000000000'}${`${n}`.padStart(2, '0')}`)
const orNull = <T>(drawn: fc.Arbitrary<T>) => fc.option(drawn, { nil: null, freq: 4 })
const placed = (most: number) => ({ tenant_id: orNull(near(most)), project_id: orNull(near(most)) })
/** Free texts: what separates, what quotes, what is nothing, in whichever order. */
export const texts = fc
  .array(
    fc.constantFrom(
      ...['', ' ', 'a', 'b', '"', '","', ',', '\\', '\\"', '[', ']', 'null', 'undefined', 'https://i.example', '/', '#', '\n', '\u0000'],
      ...['ä', 'a\u0308', '0', ':'],
    ),
    { maxLength: 3 },
  )
  .map((parts) => parts.join(''))

// As few ids as will do, so that each input has others that differ from it in one member, or have the same in another place.
const standing = fc.record({ actor_id: near(12), ...placed(12) })
const credential = fc.record({ owner_id: near(12), key_id: near(12), org_id: near(12) })
const sourceKeys: Record<keyof Awaited<ReturnType<typeof keptSources>>, fc.Arbitrary<unknown>> = {
  standing,
  rules: fc.record(placed(45)),
  policy: fc.record({ key: fc.constantFrom(...Object.keys(policyDefinitions)), ...placed(6) }),
  'operator standing': standing,
  'known place': standing,
  'service account standing': standing,
  'service account key': credential,
  'operator credential': credential,
  'signing keys': fc.constant('all'),
  'issued token': fc.record({ jti: near(45), org_id: orNull(near(45)) }),
  person: fc.record({ issuer: texts, subject: texts }),
}

interface Counted {
  readonly as: Parameters<typeof rateKey>[0]
  readonly actor: { readonly type: (typeof actorTypes)[number]; readonly id: string } | null
  readonly ip: string
}
const addresses = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('::1', '::ffff:10.0.0.1', '10.0.0.1', '::'))
const callers: fc.Arbitrary<Counted> = fc.oneof(
  fc.record({
    as: fc.constantFrom('api' as const, 'machine' as const, 'credential' as const, 'decision' as const),
    actor: fc.record({ type: fc.constantFrom(...actorTypes), id: fc.oneof(near(30), addresses, texts) }),
    ip: fc.constant('::1'),
  }),
  fc.record({ as: fc.constantFrom('anonymous' as const, 'document' as const), actor: fc.constant(null), ip: addresses }),
)

const operationOf = new Map(operations.map((operation) => [operation.id, operation]))
/** One after another: with members of every kind, with a secret in its body, and by a client that says in the body who it is. */
const asked = ['organization.create', 'shared_runtime.credential.deposit', 'oauth.token.revoke']
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    texts,
    fc.constantFrom<unknown>(0, 1, '1', true, 'true', false, null, '{}', '[]'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'secret', '"', 'a":1,"b', ''), tie('value'), { maxKeys: 3 }),
  ),
}))
const members = fc.dictionary(fc.constantFrom('a', 'b', 'secret', 'a":1,"b', ''), value, { maxKeys: 2, noNullPrototype: true })
const requests = fc.record(
  { id: fc.constantFrom(...asked), params: members, query: members, body: members, project_header: near(3) },
  { requiredKeys: ['id', 'params', 'query', 'body'] },
)
type Request = Parameters<typeof requestHash>[1] & { readonly id: string }
const hashWith =
  (hash: typeof requestHash) =>
  ({ id, ...request }: Request): string =>
    hash(operationOf.get(id)!, request)

/** Everything that is kept, counted or found again under a name that is put together. */
export const everyKey = async (): Promise<Record<string, Keyed>> => {
  const sources = await keptSources()
  const kept = Object.entries(sources).map(([name, source]): [string, Keyed] => [
    `kept: ${name}`,
    { drawn: sourceKeys[name as keyof typeof sources], keyOf: (key) => want(source, key).id },
  ])
  return {
    ...Object.fromEntries(kept),
    rate: {
      drawn: callers,
      keyOf: ({ as, actor, ip }: Counted) => rateKey(as, actor, ip),
      // Whoever is nobody is counted by his network.
      meaningOf: ({ as, actor, ip }: Counted) => [as, actor ?? networkOf(ip)],
    },
    'idempotent request': { drawn: requests, keyOf: hashWith(requestHash) },
    'idempotent request with a secret': {
      drawn: requests,
      keyOf: hashWith(hashedRequests(new Secret('one key'.padEnd(40, '.')))),
    },
    'what a cursor is bound to': { drawn: value, keyOf: canonicalJson },
  }
}
