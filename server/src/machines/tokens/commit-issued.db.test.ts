import { readProject } from '@gatehouse/contract/projects'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { verifyChains } from '#rails/audit/verify-chains.ts'
import type { ServerParts } from '#rails/http/server.ts'
import { deafDatabase } from '../../../../test/deaf-database.ts'
import { holdingChain } from '../../../../test/holding-chain.ts'
import { type Answered, noRateLimits, serverFixture, testKeys, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome, machineWithSecret } from '../../../../test/machine-credential.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { keySetSource } from '../keys/key-set.ts'
import { createSigner, type Sign } from '../keys/signer.ts'
import type { IssuerParts } from './issue-token.ts'
import { gateAndIssuer } from './issuing.ts'
import { tokenRoutes } from './token-routes.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 1 } })

const ring = parseKeyRing(testKeys)
const sign = createSigner({ ring, transit: null })

/** One more server whose issuer has other parts than it should. */
const issuingWith = async (changed: Partial<IssuerParts> | ((parts: IssuerParts) => Partial<IssuerParts>)) =>
  live.replica((parts: ServerParts) => {
    const good: IssuerParts = {
      ...parts,
      patience_ms: unhurried.patience_ms,
      keys: { want: keySetSource(ring), sign },
      issuer: tokenIssuer,
    }
    const issuing = gateAndIssuer({ ...good, ...(typeof changed === 'function' ? changed(good) : changed) })
    const [broken] = tokenRoutes(issuing)
    return {
      ...parts,
      aside: issuing.denials,
      answers: parts.answers.map((each) => (each.operation.id === broken!.operation.id ? broken! : each)),
    }
  })
const signingWith = (act: Sign) => issuingWith({ keys: { want: keySetSource(ring), sign: act } })

const machine = () => machineWithSecret(live)
type Machine = Awaited<ReturnType<typeof machine>>
const machinesOf = async (count: number): Promise<Machine[]> => {
  const made: Machine[] = []
  while (made.length < count) made.push(await machine())
  return made
}
const tokensOf = ({ service_account_id }: Machine) => live.sql('select * from issued_tokens where actor_id = $1', [service_account_id])
const eventsOf = ({ service_account_id }: Machine) =>
  live.sql<{ action: string }>('select action from audit_logs where actor_id = $1 order by seq', [service_account_id])
const codes = (answers: readonly Answered[]) => answers.map(({ status, body }) => (status === 200 ? '200' : `${status} ${body.code}`))
const asBearer = (token: string, base?: string) =>
  live.ask(null, readProject, { params: { project_id: auroraHome.project_id }, headers: { authorization: `Bearer ${token}` }, base })

describe('an idempotency key', () => {
  const key = (name: string) => ({ 'idempotency-key': name })

  test('TI-19 T15 is good for one token: again it is 409 with the session, with another body 422, and never a token', async () => {
    const sa = await machine()
    const first = await sa.ask({}, key('one'))
    expect(first.status).toBe(200)
    const again = await sa.ask({}, key('one'))
    expect([again.status, again.body.code]).toEqual([409, 'credential_already_issued'])
    expect(again.body.details).toEqual({ credential_session_id: first.body.credential_session_id })
    expect(again.text).not.toContain('eyJ')
    expect(codes([await sa.ask({ ttl_seconds: 60 }, key('one'))])).toEqual(['422 idempotency_key_reused'])
    // Also where the other request would be refused for itself.
    expect(codes([await sa.ask({ audience: 'nowhere' }, key('one'))])).toEqual(['422 idempotency_key_reused'])
    expect(await tokensOf(sa)).toHaveLength(1)
    expect((await eventsOf(sa)).map(({ action }) => action)).toEqual(['auth.token.issue'])
    expect((await sa.ask({}, key('two'))).status).toBe(200)
  })

  test('TI-19 T15 is each caller’s own, and is not looked at before the secret is verified', async () => {
    const [one, other] = [await machine(), await machine()]
    expect(codes([await one.ask({}, key('same')), await other.ask({}, key('same'))])).toEqual(['200', '200'])
    expect(codes([await one.ask({ client_secret: 'wrong' }, key('same'))])).toEqual(['401 token_invalid'])
    expect(codes([await one.ask({ client_secret: 'wrong', ttl_seconds: 5 }, key('same'))])).toEqual(['401 token_invalid'])
  })

  test('TI-18 TI-19 T15 what is kept of it holds neither secret nor token, and the secret is no part of what was asked', async () => {
    const sa = await machine()
    const { body } = await sa.ask({}, key('kept'))
    const [kept] = await live.sql(`select * from idempotency_keys where actor_id = $1`, [sa.service_account_id])
    expect(kept).toMatchObject({ actor_type: 'service_account', reply: null, credential_session_id: body.credential_session_id })
    const text = JSON.stringify(kept)
    for (const secret of [sa.client_secret, body.access_token, body.access_token.split('.')[2]]) expect(text).not.toContain(secret)
  })

  test('TI-19 T15 used for the first time by fifty at once, on two servers, issues one token and leaves one record', async () => {
    const other = await live.replica()
    const sa = await machine()
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => sa.ask({}, key('fifty'), n % 2 ? other.url : undefined)))
    const [good] = answers.filter(({ status }) => status === 200)
    expect(codes(answers).sort()).toEqual(['200', ...Array.from({ length: 49 }, () => '409 credential_already_issued')])
    for (const { status, body } of answers)
      if (status === 409) expect(body.details).toEqual({ credential_session_id: good!.body.credential_session_id })
    expect(await tokensOf(sa)).toHaveLength(1)
    expect(await eventsOf(sa)).toHaveLength(1)
  })

  test('TI-19 is not used up by what failed', async () => {
    const sa = await machine()
    const broken = await issuingWith({ append: () => Promise.reject(new Problem('dependency_unavailable')) })
    expect(codes([await sa.ask({}, key('failed'), broken.url)])).toEqual(['503 dependency_unavailable'])
    expect(codes([await sa.ask({ audience: 'nowhere' }, key('failed'))])).toEqual(['400 validation_error'])
    expect(codes([await sa.ask({}, key('failed'))])).toEqual(['200'])
  })
})

describe('what is signed and not committed', () => {
  /** A signer that lets us see what it signed. */
  const capturing = () => {
    const seen: string[] = []
    const capture: Sign = async (key, input) => {
      const signature = await sign(key, input)
      seen.push(`${input}.${signature.toString('base64url')}`)
      return signature
    }
    return { seen, capture }
  }

  test('TI-12 TI-15 is not given out, and where somebody has it all the same it is refused', async () => {
    const sa = await machine()
    const { seen, capture } = capturing()
    const keys = { want: keySetSource(ring), sign: capture }
    const broken = await issuingWith({ keys, append: () => Promise.reject(new Problem('dependency_unavailable')) })
    for (const headers of [{}, { 'idempotency-key': 'x' }]) {
      const answered = await sa.ask({}, headers, broken.url)
      expect(codes([answered])).toEqual(['503 dependency_unavailable'])
      expect(answered.text).not.toContain('eyJ')
    }
    expect(seen).toHaveLength(2)
    for (const token of seen) expect((await asBearer(token)).status).toBe(401)
    expect(await tokensOf(sa)).toEqual([])
    // The control: with nothing in the way, what was seen on its way is good.
    const good = await issuingWith({ keys })
    expect((await sa.ask({}, {}, good.url)).status).toBe(200)
    expect((await asBearer(seen.at(-1)!)).status).toBe(200)
  })

  test.each(['audit_logs', 'issued_tokens'])('TI-12 TI-23 where %s takes no row, nothing is issued', async (table) => {
    const sa = await machine()
    await live.sql(
      `create function refuse_row() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
       create trigger refuse_row before insert on ${table} for each row execute function refuse_row()`,
    )
    const answers = await Promise.all([sa.ask(), sa.ask({}, { 'idempotency-key': 'y' })])
    await live.sql(`drop trigger refuse_row on ${table}; drop function refuse_row()`)
    for (const { status, text } of answers) {
      expect(status).toBeGreaterThanOrEqual(500)
      expect(text).not.toContain('eyJ')
    }
    expect(await tokensOf(sa)).toEqual([])
    expect(await eventsOf(sa)).toEqual([])
    expect((await sa.ask({}, { 'idempotency-key': 'y' })).status).toBe(200)
  })

  test('TI-14 a key that cannot sign issues nothing', async () => {
    const sa = await machine()
    const broken = await signingWith(() => Promise.reject(new Problem('dependency_unavailable')))
    expect(codes([await sa.ask({}, {}, broken.url)])).toEqual(['503 dependency_unavailable'])
    expect(await tokensOf(sa)).toEqual([])
  })
})

describe('what changes between the decision and the commit', () => {
  const revoke = ({ key_id }: Machine) =>
    live.sql(
      `update service_account_keys set revoked_at = now(), revoked_by = (select id from users limit 1), revoke_reason = 'x' where id = $1`,
      [key_id],
    )
  /** Takes the key away while the token is being signed. */
  const revoking =
    (sa: Machine): Sign =>
    async (key, input) => {
      await revoke(sa)
      return sign(key, input)
    }

  test('TI-16 a key that is revoked meanwhile issues nothing, with an idempotency key or without', async () => {
    for (const headers of [{}, { 'idempotency-key': 'z' }]) {
      const sa = await machine()
      const { url } = await signingWith(revoking(sa))
      expect(codes([await sa.ask({}, headers, url)])).toEqual(['401 token_invalid'])
      expect(await tokensOf(sa)).toEqual([])
      expect((await eventsOf(sa)).map(({ action }) => action)).toEqual(['auth.token.deny'])
    }
  })

  test('TI-16 the control: a server that does not ask again issues one for a revoked key', async () => {
    const sa = await machine()
    const { url } = await issuingWith({ database: await deafDatabase(live), keys: { want: keySetSource(ring), sign: revoking(sa) } })
    expect((await sa.ask({}, {}, url)).status).toBe(200)
  })

  test('TI-16 nor where the chain of its tenant begins only then', async () => {
    const [org_id, project_id] = [newId('org'), newId('project')]
    await live.sql(`insert into organizations (id, type, name, slug, created_at) values ($1, 'enterprise', 'New', $2, now())`, [
      org_id,
      `n-${org_id}`,
    ])
    await live.sql(`insert into projects (id, org_id, name, slug, created_at) values ($1, $2, 'New', $3, now())`, [
      project_id,
      org_id,
      `n-${project_id}`,
    ])
    const sa = await machineWithSecret(live, { org_id, project_id })
    let begun = 0
    const { url } = await issuingWith(({ database }) => ({
      database: {
        ...database,
        transaction: (mode, within, options) =>
          database.transaction(
            mode,
            (tx) =>
              within({
                ...tx,
                one: async (statement) => {
                  if (/insert into audit_heads/.test(statement.text)) {
                    begun += 1
                    // Time enough for whatever was sent ahead to be answered.
                    await live.sql('select pg_sleep(0.1)')
                    await revoke(sa)
                  }
                  return tx.one(statement)
                },
              }),
            options,
          ),
      },
    }))
    expect(codes([await sa.ask({}, {}, url)])).toEqual(['401 token_invalid'])
    expect(begun).toBeGreaterThan(0)
    expect(await tokensOf(sa)).toEqual([])
  })

  test('TI-23 something else that changes makes it decide again, and it issues one; what changes each time ends in 503', async () => {
    const sa = await machine()
    const touch = () => live.sql(`update projects set name = name || '.' where id = $1`, [auroraHome.project_id])
    let calls = 0
    const once = await signingWith(async (key, input) => {
      calls += 1
      if (calls === 1) await touch()
      return sign(key, input)
    })
    expect((await sa.ask({}, {}, once.url)).status).toBe(200)
    expect(calls).toBe(2)
    expect(await tokensOf(sa)).toHaveLength(1)
    expect(await eventsOf(sa)).toHaveLength(1)
    const always = await signingWith(async (key, input) => {
      await touch()
      return sign(key, input)
    })
    expect(codes([await sa.ask({}, {}, always.url)])).toEqual(['503 dependency_unavailable'])
    expect(await tokensOf(sa)).toHaveLength(1)
  })

  test('TI-09 a role that is taken away meanwhile is not in the token', async () => {
    const sa = await machine()
    let calls = 0
    const { url } = await signingWith(async (key, input) => {
      calls += 1
      if (calls === 1)
        await live.sql(`update project_role_bindings set deleted_at = now(), delete_reason = 'x' where principal_id = $1`, [
          sa.service_account_id,
        ])
      return sign(key, input)
    })
    expect((await sa.ask({}, {}, url)).body.scope).toBe('project.read')
  })
})

describe('many at once', () => {
  test('TI-23 share a transaction, and each has its own token, row and record', async () => {
    const machines = await machinesOf(10)
    for (const sa of machines) await sa.ask()
    let signed = 0
    const { url } = await signingWith((...asked) => {
      signed += 1
      return sign(...asked)
    })
    let asking: Promise<Answered[]> = Promise.resolve([])
    // Nobody commits before all are there.
    await holdingChain(live, auroraHome.org_id, async () => {
      asking = Promise.all(Array.from({ length: 4 }, () => machines.map((sa) => sa.ask({}, {}, url))).flat())
      await expect.poll(() => signed).toBe(40)
    })
    const answers = await asking
    expect(new Set(codes(answers))).toEqual(new Set(['200']))
    const ids = answers.map(({ body }) => body.credential_session_id)
    expect(new Set(ids).size).toBe(40)
    const [counted] = await live.sql<{ rows: number; transactions: number }>(
      'select count(*)::int as rows, count(distinct xmin::text)::int as transactions from issued_tokens where id = any ($1)',
      [ids],
    )
    expect(counted!.rows).toBe(40)
    expect(counted!.transactions).toBeLessThan(30)
    for (const answered of answers) {
      const [event, ...more] = await live.auditOf(answered.headers.get('x-request-id')!)
      expect(more).toEqual([])
      expect(event).toMatchObject({ resource_id: answered.body.credential_session_id, actor_id: answered.body.issued_claims_summary.sub })
    }
  })

  test('TI-12 one that the database does not take fails alone', async () => {
    const machines = await machinesOf(12)
    await live.sql(
      `create function refuse_bad() returns trigger language plpgsql as $$ begin if new.reason = 'bad' then raise 'no'; end if; return new; end $$;
       create trigger refuse_bad before insert on issued_tokens for each row execute function refuse_bad()`,
    )
    const answers = await Promise.all(machines.map((sa, n) => sa.ask({ reason: n === 5 ? 'bad' : 'good' })))
    await live.sql('drop trigger refuse_bad on issued_tokens; drop function refuse_bad()')
    expect(answers.map(({ status }) => status)).toEqual(machines.map((_, n) => (n === 5 ? 500 : 200)))
    expect(await eventsOf(machines[5]!)).toEqual([])
  })

  test('TI-12 AU-02 and every chain is whole', async () => {
    const key = await auditKey(live.database, ring)
    expect((await live.database.transaction('read', (tx) => verifyChains(tx, key))).faults).toEqual([])
  })
})
