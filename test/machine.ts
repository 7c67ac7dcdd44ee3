import { parseKeyRing } from '../server/src/ground/custody/key-ring.ts'
import type { Tx } from '../server/src/ground/db/database.ts'
import type { Statement } from '../server/src/ground/db/statement.ts'
import { newId } from '../server/src/ground/kernel/ids.ts'
import { type KeySet, keySetSource } from '../server/src/machines/keys/key-set.ts'
import { createSigner } from '../server/src/machines/keys/signer.ts'
import { typeOf } from '../server/src/machines/tokens/machine-class.ts'
import { testKeys, tokenIssuer } from './live-server.ts'

type Sql = <Row>(text: string, values?: unknown[]) => Promise<Row[]>
interface Home {
  readonly org_id: string
  readonly project_id: string
}

/** What a test changes in a token that would be good without it. */
interface Minted {
  readonly ttl_seconds?: number
  readonly claims?: Record<string, unknown>
  readonly header?: Record<string, unknown>
  /** Columns of its row, as expressions. */
  readonly row?: Record<string, string>
  readonly is_recorded?: boolean
}

const ring = parseKeyRing(testKeys)
const sign = createSigner({ ring, transit: null })

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A service account with a key and a role in this project, past every endpoint. */
export const machineOn = async (sql: Sql, { org_id, project_id }: Home, role = 'project_member') => {
  const [account_id, key_id] = [newId('service_account'), newId('service_account_key')]
  const [maker] = await sql<{ id: string }>('select id from users order by id limit 1')
  await sql(`insert into service_accounts (id, org_id, project_id, name, slug, created_at) values ($1, $2, $3, 'machine', $4, now())`, [
    account_id,
    org_id,
    project_id,
    `m-${account_id.slice(-12)}`,
  ])
  await sql(
    `insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
     select $1, $2, decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'), epoch, now(), $3 from installation`,
    [key_id, account_id, maker!.id],
  )
  await sql(
    `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
     select gen_random_uuid(), $1, 'service_account', $2, current_version_id, now() from role_definitions where name = $3 and is_builtin`,
    [project_id, account_id, role],
  )

  const signingKey = async () => {
    const many = async <Row>({ text, values }: Statement<Row>) => sql<Row>(text, [...values])
    const source = keySetSource(ring)().source
    const tx = { many, one: async <Row>(statement: Statement<Row>) => (await many(statement))[0]! } as unknown as Tx
    const [keys] = (await source.load(tx, ['all'] as never)) as [KeySet]
    return keys.signing!
  }

  /** A token as the issuer makes it, with its row; whatever is changed in it is signed all the same. */
  const mint = async ({ ttl_seconds = 3600, claims = {}, header = {}, row = {}, is_recorded = true }: Minted = {}) => {
    const key = await signingKey()
    const jti = newId('token')
    const [times] = await sql<{ iat: number; issued_at: string }>(
      `select floor(extract(epoch from now))::int as iat, now::text as issued_at
         from (select date_trunc('milliseconds', clock_timestamp()) as now) as clock`,
    )
    const scope = ['allocation.create', 'allocation.read', 'project.role.read']
    const { iat, issued_at } = times!
    const said = {
      sub: account_id,
      actor_type: 'service_account',
      iss: tokenIssuer.url,
      aud: tokenIssuer.audience,
      iat,
      exp: iat + ttl_seconds,
      jti,
      scope: scope.join(' '),
      org_id,
      project_id,
      ...claims,
    }
    const signed = `${encoded({ alg: key.alg, kid: key.kid, typ: typeOf.service_account, ...header })}.${encoded(said)}`
    const token = `${signed}.${(await sign(key, Buffer.from(signed))).toString('base64url')}`
    const columns = {
      id: `'${jti}'`,
      actor_type: `'service_account'`,
      actor_id: `'${account_id}'`,
      credential_id: `'${key_id}'`,
      org_id: `'${org_id}'`,
      project_id: `'${project_id}'`,
      typ: `'${typeOf.service_account}'`,
      kid: `'${key.kid}'`,
      audience: `'${tokenIssuer.audience}'`,
      scope: `'{${scope.join(',')}}'`,
      epoch: '(select epoch from installation)',
      issued_at: `'${issued_at}'`,
      expires_at: `to_timestamp(${iat + ttl_seconds})`,
      ...row,
    }
    if (is_recorded)
      await sql(`insert into issued_tokens (${Object.keys(columns).join(', ')}) values (${Object.values(columns).join(', ')})`)
    return { token, jti, claims: said, kid: key.kid }
  }
  return { account_id, key_id, mint }
}
