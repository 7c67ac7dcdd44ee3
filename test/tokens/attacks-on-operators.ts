import { readSharedRuntime } from '../../contract/src/shared-runtimes.ts'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { typeOf } from '../../server/src/machines/tokens/machine-class.ts'
import { machineOn } from '../machine.ts'
import { operatorWithSecret } from '../operator-credential.ts'
import { type Attack, type Ground, home, somebody } from './ground.ts'

const scope = 'tenant.shared_runtime.read'

const runtimeOn = async ({ live }: Ground): Promise<string> => {
  const id = newId('shared runtime') as string
  await live.sql(
    `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
     values ($1, $2, 'attacked', '1', '${id}', 'k8s', now(), $3, now())`,
    [id, home.org_id, somebody],
  )
  return id
}

/** The operator of a runtime on that server, and how tokens for it are forged with the product's own key. A rightful one must be heard first. */
const operatorOn = async (ground: Ground) => {
  const { live, url } = ground
  const id = await runtimeOn(ground)
  const operator = await operatorWithSecret(live, id)
  const account = await machineOn(live.sql, home)
  const said = { sub: id, actor_type: 'shared_runtime_operator', shared_runtime_id: id, project_id: undefined, scope }
  const recorded = {
    actor_type: `'shared_runtime_operator'`,
    actor_id: `'${id}'`,
    credential_id: `'${operator.key_id}'`,
    project_id: 'null',
    binding: `'${JSON.stringify({ shared_runtime_id: id })}'`,
    typ: `'${typeOf.shared_runtime_operator}'`,
    scope: `'{${scope}}'`,
  }
  interface Changed {
    readonly typ?: string
    readonly claims?: Record<string, unknown>
    readonly row?: Record<string, string>
  }
  const mint = async ({ typ = typeOf.shared_runtime_operator, claims = {}, row = {} }: Changed = {}): Promise<string> =>
    (await account.mint({ header: { typ }, claims: { ...said, ...claims }, row: { ...recorded, ...row } })).token
  const statusOf = async (token: string): Promise<number> => {
    return (
      await live.ask(null, readSharedRuntime, {
        params: { org_id: home.org_id, shared_runtime_id: id },
        headers: { authorization: `Bearer ${token}` },
        base: url,
      })
    ).status
  }
  const notRefused = async (tokens: Readonly<Record<string, string>>): Promise<string[]> => {
    const found: string[] = []
    for (const [what, token] of Object.entries(tokens)) {
      const status = await statusOf(token)
      if (status !== 401) found.push(`${what} is answered ${status}`)
    }
    return found
  }
  const status = await statusOf(await mint())
  if (status !== 200) throw new Error(`a rightful token is answered ${status}`)
  return { ...operator, id, account, mint, said, recorded, statusOf, notRefused }
}
type Operator = Awaited<ReturnType<typeof operatorOn>>

const confused: Attack = async (ground) => {
  const { mint, account, notRefused, said, recorded } = await operatorOn(ground)
  const types = Object.entries(typeOf).filter(([name]) => name !== 'shared_runtime_operator')
  const dressed: Record<string, string> = {
    'an account’s record under an operator’s claims': (
      await account.mint({ header: { typ: typeOf.shared_runtime_operator }, claims: said, row: { scope: recorded.scope } })
    ).token,
    'an operator’s record under an account’s claims': await mint({
      typ: typeOf.service_account,
      claims: { sub: account.account_id, actor_type: 'service_account', shared_runtime_id: undefined, project_id: home.project_id },
    }),
    'an access token that names no client': await mint({ typ: 'at+jwt', row: { typ: `'at+jwt'` } }),
  }
  for (const [name, typ] of types) dressed[`the type of a ${name}`] = await mint({ typ })
  return notRefused(dressed)
}

const misbound: Attack = async (ground) => {
  const { id, mint, notRefused } = await operatorOn(ground)
  const another = await operatorOn(ground)
  return notRefused({
    'another runtime in the claims than in the record': await mint({ claims: { shared_runtime_id: another.id } }),
    'another runtime in the record than in the claims': await mint({
      row: { binding: `'${JSON.stringify({ shared_runtime_id: another.id })}'` },
    }),
    'no runtime': await mint({ claims: { shared_runtime_id: undefined } }),
    'a list of runtimes': await mint({ claims: { shared_runtime_id: [id] } }),
    'a project besides': await mint({ claims: { project_id: home.project_id } }),
    'another subject': await mint({ claims: { sub: another.id } }),
    'the credential of another runtime': await mint({ row: { credential_id: `'${another.key_id}'` } }),
    'no credential': await mint({ row: { credential_id: 'null' } }),
  })
}

/** What was good a moment ago, after something has ended it: by its row alone, so that no other fence stands before it. */
const ended =
  (statement: (its: Operator) => string): Attack =>
  async (ground) => {
    const operator = await operatorOn(ground)
    const token = await operator.mint()
    await ground.live.sql(statement(operator))
    return operator.notRefused({ 'one that has ended': token })
  }

const credential = (set: string) => ended(({ key_id }) => `update shared_runtime_operator_credentials set ${set} where id = '${key_id}'`)
const runtimeIs = (id: string, state: 'disabled' | 'deleted') => {
  const word = state.slice(0, -1)
  return `update shared_app_runtimes set state = '${state}', ${state}_at = now(), ${state}_by = '${somebody}', ${word}_reason = 'test' where id = '${id}'`
}

/** A secret that is right, of what does not count any more. */
const opening: Attack = async (ground) => {
  const found: string[] = []
  for (const state of ['disabled', 'deleted'] as const) {
    const { id, ask } = await operatorOn(ground)
    const before = await ask({}, {}, ground.url)
    if (before.status !== 200) throw new Error(`the right secret is answered ${before.status} ${before.text}`)
    await ground.live.sql(runtimeIs(id, state))
    const { status } = await ask({}, {}, ground.url)
    if (status !== 401) found.push(`a ${state} runtime’s credential is answered ${status}`)
  }
  const [one, another] = [await operatorOn(ground), await operatorOn(ground)]
  const { status } = await one.ask({ shared_runtime_id: another.id }, {}, ground.url)
  if (status !== 401) found.push(`a credential for another runtime is answered ${status}`)
  return found
}

/** A disabled runtime's token is known, and good for nothing. */
const disabled: Attack = async (ground) => {
  const { id, mint, statusOf } = await operatorOn(ground)
  const token = await mint()
  await ground.live.sql(runtimeIs(id, 'disabled'))
  const status = await statusOf(token)
  return status === 403 ? [] : [`a disabled runtime’s operator is answered ${status}`]
}

export const attacksOnOperators = {
  'TI-15 T7 T8 MI-09 an operator’s class': confused,
  'TI-15 T6 an operator’s binding': misbound,
  'TI-16 an operator’s credential revoked': credential(`revoked_at = now(), revoked_by = '${somebody}', revoke_reason = 'test'`),
  'TI-16 an operator’s credential expired': credential('expires_at = now()'),
  'TI-16 a runtime deleted': ended(({ id }) => runtimeIs(id, 'deleted')),
  'TI-16 an operator cut off': ended(
    ({ id }) => `insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, created_at, created_by, reason)
                 values (gen_random_uuid(), 'actor', '${id}', '${home.org_id}', now(), now(), 'test', 'test')`,
  ),
  'MI-07 a runtime disabled': disabled,
  'TI-11 credentials of operators that have ended': opening,
} satisfies Record<string, Attack>
