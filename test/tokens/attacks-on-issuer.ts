import { newId } from '../../server/src/ground/kernel/ids.ts'
import { newSecret } from '../../server/src/machines/service-accounts/key-secret.ts'
import type { PolicyKey } from '../../server/src/rails/policies/policy-definitions.ts'
import { type Answered, seeded } from '../live-server.ts'
import { tokenPath } from '../machine-credential.ts'
import { type Attack, askerOn, claimsIn, during, type Ground, home, recordedOf, shown, victimOn } from './ground.ts'

const told = ({ status, body }: Answered): string => (status === 200 ? '200' : `${status} ${body?.code}`)

/** What is said is not what should be. */
const unless = (expected: string, what: string, said: string): string[] => (said === expected ? [] : [`${what}: ${said}, not ${expected}`])

/** Whoever was not verified is answered before it is recorded. */
const recordedSoon = async (ground: Ground, answered: Answered): Promise<string> => {
  for (let tries = 0; tries < 100; tries += 1) {
    const recorded = await recordedOf(ground, answered)
    if (recorded !== '') return recorded
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return ''
}

/** A refusal that leaves exactly one row. */
const refusedSo = async (ground: Ground, expected: string, what: string, answered: Answered): Promise<string[]> => [
  ...unless(expected, what, told(answered)),
  ...unless('auth.token.deny', `the record of ${what}`, await (answered.status === 401 ? recordedSoon : recordedOf)(ground, answered)),
]

const longest = 3600
const lifetimeIn = ({ body }: Answered): number => {
  const { iat, exp } = claimsIn(body.access_token)
  return exp - iat
}

const lifetime: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  const found: string[] = []
  for (const ttl_seconds of [0, -1, 1.5, '3600', 1e9, null]) {
    const { status } = await ask({ ttl_seconds })
    found.push(...unless('400', `a lifetime of ${JSON.stringify(ttl_seconds)}`, String(status)))
  }
  for (const ttl_seconds of [longest, longest + 1, 1e8]) {
    const answered = await ask({ ttl_seconds })
    found.push(...unless(String(longest), `a lifetime of ${ttl_seconds}`, String(lifetimeIn(answered))))
  }
  return found
}

const withPolicy = <T>({ live }: Ground, key: PolicyKey, value: unknown, attack: () => Promise<T>): Promise<T> => {
  let before: unknown
  return during(
    async () => {
      ;[{ value: before }] = (await live.sql('select value from policy_values where key = $1 and replaced_at is null', [key])) as [
        { value: unknown },
      ]
      await live.setPolicy(key, value)
    },
    attack,
    () => live.setPolicy(key, before),
  )
}

const maximum: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  return withPolicy(ground, 'auth.iam_token_issuer.max_ttl_seconds', 90, async () => [
    ...unless('90', 'a lifetime that is not said', String(lifetimeIn(await ask()))),
    ...unless('90', 'a lifetime beyond the platform’s', String(lifetimeIn(await ask({ ttl_seconds: longest })))),
  ])
}

const limits = [
  'auth.service_account_token_ttl_seconds',
  'auth.iam_token_issuer.max_ttl_seconds',
  'auth.iam_token_issuer.allowed_audiences',
  'auth.iam_token_issuer.allowed_scopes',
] as const
const garbledPolicy: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  const found: string[] = []
  for (const key of limits)
    found.push(
      ...(await withPolicy(ground, key, { garbled: 7 }, async () =>
        refusedSo(ground, '503 policy_unavailable', `without ${key}`, await ask()),
      )),
    )
  return found
}

/** What somebody asks for who may only look, and what he is given: null is nothing. */
const scopes: readonly (readonly [asked: string, given: string | null])[] = [
  ['allocation.read', 'allocation.read'],
  ['storage.read Allocation.READ allocation.read', 'allocation.read storage.read'],
  ['allocation.read allocation.create platform.admin project.role.assign', 'allocation.read'],
  [Array.from({ length: 1000 }, (_, n) => (n % 2 ? 'allocation.read' : 'x')).join(' '), 'allocation.read'],
  ['allocation.create', null],
  ['*', null],
  ['allocation.read\tstorage.read', null],
  ['allocation.read\u00a0', null],
  ['platform.admin tenant.read', null],
  ['project.service_account.manage', null],
  ['auth.token.issue', null],
  [' ', null],
]

const scope: Attack = async (ground) => {
  const { ask } = await askerOn(ground, 'project_viewer')
  const found: string[] = []
  for (const [asked, given] of scopes) {
    const answered = await ask({ scope: asked })
    const what = `scope ${JSON.stringify(asked.slice(0, 60))}`
    if (given === null) found.push(...(await refusedSo(ground, '403 insufficient_permissions', what, answered)))
    else found.push(...unless(given, what, answered.status === 200 ? claimsIn(answered.body.access_token).scope : told(answered)))
  }
  const narrowed = await withPolicy(ground, 'auth.iam_token_issuer.allowed_scopes', { service_account: ['allocation.read'] }, () => ask())
  return [...found, ...unless('allocation.read', 'what policy narrows', String(narrowed.body.scope))]
}

/** The answer says what the token says. */
const summary: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  const found: string[] = []
  for (const wish of [{}, { scope: 'allocation.read platform.admin' }, { ttl_seconds: longest + 1 }, { ttl_seconds: 60 }]) {
    const { body } = await ask(wish)
    const [said, signed] = [JSON.stringify(body.issued_claims_summary), JSON.stringify(claimsIn(body.access_token))]
    found.push(...unless(signed, `the summary for ${JSON.stringify(wish)}`, said))
    found.push(...unless(String(lifetimeIn({ body } as Answered)), 'its lifetime', String(body.expires_in_seconds)))
  }
  return found
}

/** A narrow token, used for what its account may do and it may not. */
const bounds: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  const { body } = await ask({ scope: 'allocation.read' })
  const { status, body: decided } = await shown(ground, body.access_token)
  return unless('200 deny', 'what is not in its scope', `${status} ${decided.decision}`)
}

const asserted: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  const found: string[] = []
  const assertions = [
    { actor_type: 'shared_runtime_operator' },
    { actor_id: newId('service_account') },
    { org_id: seeded.org.borealis },
    { project_id: seeded.project.borealis },
    { resource_type: 'node' },
    { resource_id: newId('project') },
  ]
  for (const body of assertions)
    found.push(...(await refusedSo(ground, '403 insufficient_permissions', `as ${JSON.stringify(body)}`, await ask(body))))
  return [...found, ...(await refusedSo(ground, '400 validation_error', 'for another audience', await ask({ audience: 'nowhere' })))]
}

const key = (name: string) => ({ 'idempotency-key': name })
const tokensOf = async ({ live }: Ground, account_id: string): Promise<number> =>
  (await live.sql('select from issued_tokens where actor_id = $1', [account_id])).length

const repeated: Attack = async (ground) => {
  const { ask, service_account_id } = await askerOn(ground)
  const first = await ask({}, key('one'))
  const again = await ask({}, key('one'))
  const [kept] = await ground.live.sql('select * from idempotency_keys where actor_id = $1', [service_account_id])
  return [
    ...unless('200', 'the first use', told(first)),
    ...unless('409 credential_already_issued', 'the second', told(again)),
    ...unless(String(first.body.credential_session_id), 'its session', String(again.body.details?.credential_session_id)),
    ...(again.text.includes('eyJ') ? ['the second has a token'] : []),
    ...(JSON.stringify(kept).includes('eyJ') ? ['the token is kept'] : []),
    ...unless('422 idempotency_key_reused', 'another body', told(await ask({ ttl_seconds: 60 }, key('one')))),
    ...unless('2', 'tokens', String(await tokensOf(ground, service_account_id))),
  ]
}

const ofOthers: Attack = async (ground) => {
  const [one, other] = [await askerOn(ground), await askerOn(ground)]
  const name = newId('correlation')
  return [
    ...unless('200', 'the first use', told(await one.ask({}, key(name)))),
    ...unless('200', 'the same by another', told(await other.ask({}, key(name)))),
    ...unless('401 token_invalid', 'without the secret', told(await one.ask({ client_secret: newSecret().reveal() }, key(name)))),
  ]
}

const many = 20
const rounds = 5
const atOnce: Attack = async (ground) => {
  // Connections are opened before: whoever must still do so does not come at the same moment.
  const { ask: warmUp } = await askerOn(ground)
  await Promise.all(Array.from({ length: many }, () => warmUp()))
  for (let round = 1; round <= rounds; round += 1) {
    const { ask, service_account_id } = await askerOn(ground)
    const answers = (await Promise.all(Array.from({ length: many }, () => ask({}, key('at-once'))))).map(told)
    const rows = await ground.live.sql(`select from audit_logs where actor_id = $1 and action = 'auth.token.issue'`, [service_account_id])
    const given = answers.filter((each) => each === '200').length
    const named = answers.filter((each) => each === '409 credential_already_issued').length
    const found = [
      ...unless('1', 'tokens that were given', String(given)),
      ...unless(String(many - 1), 'answers that name it', String(named)),
      ...unless('2', 'tokens', String(await tokensOf(ground, service_account_id))),
      ...unless('2', 'rows', String(rows.length)),
    ]
    if (found.length > 0) return found
  }
  return []
}

/** A secret or a token in the address, by whatever name, and what is said to it. */
const sentInAddress = async (ground: Ground): Promise<[what: string, answered: Answered][]> => {
  const { live, url } = ground
  const { credential, client_secret } = await askerOn(ground)
  const { rightful } = await victimOn(ground)
  const issuing = (query: string) => live.call(null, 'POST', `${tokenPath}?${query}`, { body: credential }, url)
  return [
    ['a secret by its name', await issuing(`client_secret=${client_secret}`)],
    ['a secret by another name', await issuing(`q=${client_secret}`)],
    ['a token by its name', await shown(ground, rightful.token, `?access_token=${rightful.token}`)],
    ['a token by another name', await shown(ground, rightful.token, `?cursor=${rightful.token}`)],
    ['a token alone', await live.call(null, 'GET', `/api/v1/me?access_token=${rightful.token}`, {}, url)],
  ]
}
const isShown = (text: string): boolean => /ghsa_|eyJ/.test(text)

const inAddress: Attack = async (ground) => {
  const found: string[] = []
  for (const [what, answered] of await sentInAddress(ground)) {
    found.push(...unless('400 invalid_request', what, told(answered)))
    found.push(...unless('', `the record of ${what}`, await recordedOf(ground, answered)))
    if (isShown(answered.text)) found.push(`${what} is said back`)
  }
  return found
}

const inLog: Attack = async (ground) => {
  const found: string[] = []
  for (const [what, { headers }] of await sentInAddress(ground))
    if (isShown(await ground.lineOf(headers.get('x-request-id')!))) found.push(`${what} stands in the log`)
  return found
}

const guessed: Attack = async (ground) => {
  const { ask } = await askerOn(ground)
  return refusedSo(ground, '401 token_invalid', 'a wrong secret', await ask({ client_secret: newSecret().reveal() }))
}

/** While somebody guesses, and waits for his answer, whoever has the secret is answered. */
const lockedOut: Attack = async (ground) => {
  const found = await lockedOutFor(1500)(ground)
  // A machine that is busy may take longer than who guesses waits.
  return found.length === 0 ? found : lockedOutFor(8000)(ground)
}

const lockedOutFor =
  (delay: number): Attack =>
  async (ground) => {
    const { ask } = await askerOn(ground)
    return withPolicy(ground, 'auth.wrong_secret.longest_delay_milliseconds', delay, () =>
      withPolicy(ground, 'auth.wrong_secret.first_delay_milliseconds', delay, async () => {
        const found: string[] = []
        let [guesses_answered, owners_answers] = [0, 0]
        const guesses = Array.from({ length: 4 }, async () => {
          await ask({ client_secret: 'x' })
          guesses_answered += 1
        })
        while (guesses_answered === 0) {
          const said = told(await ask())
          found.push(...unless('200', 'the owner', said))
          if (guesses_answered === 0) owners_answers += 1
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        await Promise.all(guesses)
        return owners_answers > 0 ? found : [...found, 'the owner is answered no sooner than who guesses']
      }),
    )
  }

const frozen: Attack = async (ground) => {
  const { live } = ground
  const { ask } = await askerOn(ground)
  const found: string[] = []
  for (const [table, id, state] of [
    ['organizations', home.org_id, 'suspended'],
    ['projects', home.project_id, 'archived'],
  ] as const)
    found.push(
      ...(await during(
        () => live.sql(`update ${table} set state = '${state}' where id = $1`, [id]),
        async () => refusedSo(ground, '403 insufficient_permissions', `one of ${table} that is ${state}`, await ask()),
        () => live.sql(`update ${table} set state = 'active' where id = $1`, [id]),
      )),
    )
  return found
}

const endedKeys: Attack = async (ground) => {
  const { live } = ground
  const [revoked, expired, disabled] = [await askerOn(ground), await askerOn(ground), await askerOn(ground)]
  const by = seeded.user('ada')
  await live.sql(`update service_account_keys set revoked_at = now(), revoked_by = $2, revoke_reason = 'test' where id = $1`, [
    revoked.key_id,
    by,
  ])
  await live.sql(`update service_account_keys set expires_at = now() where id = $1`, [expired.key_id])
  await live.sql(
    `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = $2, disable_reason = 'test' where id = $1`,
    [disabled.service_account_id, by],
  )
  const found: string[] = []
  for (const [what, { ask }] of Object.entries({ revoked, expired, disabled }))
    found.push(...(await refusedSo(ground, '401 token_invalid', what, await ask())))
  return found
}

export const attacksOnIssuer = {
  'TI-07 T12 lifetime': lifetime,
  'TI-07 T12 the platform’s maximum': maximum,
  'TI-06 T12 garbled policy': garbledPolicy,
  'TI-09 T13 scope': scope,
  'TI-05 T13 summary': summary,
  'TI-09 T13 what a scope bounds': bounds,
  'TI-08 TI-10 T13 assertions': asserted,
  'TI-19 T15 asked again': repeated,
  'TI-19 T15 keys of others': ofOthers,
  'TI-19 T15 at once': atOnce,
  'TI-18 T18 credential in the address': inAddress,
  'TI-18 T18 what the log keeps': inLog,
  'TI-12 a wrong secret': guessed,
  'TI-26 the owner while others guess': lockedOut,
  'TI-12 where nothing is issued': frozen,
  'TI-11 keys that have ended': endedKeys,
} satisfies Record<string, Attack>
