import { depositRuntimeCredential, listRuntimeCredentials, revokeRuntimeCredential } from '../contract/src/runtime-credentials.ts'
import { fixture } from './fixture.ts'
import { type Answered, type LiveServer, seeded } from './live-server.ts'
import { believingOperators, runtimesOn } from './runtime-scene.ts'

const { org } = seeded
export const because = { reason: 'because' }
export const unwrapping = '/api/v1/deliveries/unwrap'

export const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
export const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]

let secrets = 0
/** A secret as people think of one: nothing about it says that it is one. */
export const newSecret = () => {
  secrets += 1
  return `canary-${secrets} "pässword" \\ ${'x'.repeat(40)}`
}
interface Operating {
  base?: string
  path?: string
  headers?: Record<string, string>
  org_id?: string
}
interface Row {
  action: string
  result: string
  severity: string
  actor_id: string
  tenant_id: string | null
  correlation_id: string
  metadata: Record<string, unknown>
}

/** Steps that tests of credentials for runtimes share. */
export const runtimeCredentialsOn = (live: LiveServer) => {
  const replicas = [fixture(() => live.replica(believingOperators)), fixture(() => live.replica(believingOperators))]
  /** The same database, by three processes. */
  const doors = () => [live, ...replicas].map(({ url }) => url)
  const runtimes = runtimesOn(live)
  const deposit = (id: string, secret: string, name = 'db', more: object = {}, headers: Record<string, string> = {}, who = 'adam') =>
    live.ask(who, depositRuntimeCredential, {
      params: { org_id: org.aurora, shared_runtime_id: id },
      body: { name, secret, ...more },
      headers,
    })
  const listed = async (id: string) =>
    (await live.ask('adam', listRuntimeCredentials, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items
  const revoke = (id: string, credential_id: string, who = 'adam') =>
    live.ask(who, revokeRuntimeCredential, { params: { org_id: org.aurora, shared_runtime_id: id, credential_id }, body: because })
  /** Believed at its word, so that it can ask what no token would be issued for any more. */
  const operate = (id: string, method: string, path: string, body?: object, { base, headers = {}, org_id = org.aurora }: Operating = {}) =>
    live.call(
      null,
      method,
      path,
      { ...(body ? { body } : {}), headers: { authorization: `Bearer operator.${org_id}.${id}`, ...headers } },
      base,
    )
  const deliver = (id: string, name = 'db', more: Operating = {}) =>
    operate(id, 'POST', more.path ?? runtimes.one(id, '/credential-deliveries', more.org_id), { name }, more)
  const promised = async (id: string, name = 'db'): Promise<string> => (await deliver(id, name)).body.wrapping_token
  const open = (id: string, wrapping_token: string, more: Operating = {}) => operate(id, 'POST', unwrapping, { wrapping_token }, more)
  const withSecret = async () => {
    const [id, secret] = [await runtimes.made(), newSecret()]
    const { body } = await deposit(id, secret)
    return { id, secret, credential: body as { id: string; version: number } }
  }
  /** The answer to everybody who may not open a delivery. */
  const nothing = async () => bytesOf(await open(await runtimes.made(), 'ghwd_'.padEnd(54, 'A')))
  const stateOf = async (delivery_id: string) =>
    (await live.sql('select state from wrapped_deliveries where id = $1', [delivery_id]))[0]!.state
  const recordOf = async (id: string, action?: string, result?: string) =>
    (
      await live.sql<Row>(
        `select action, result, severity, actor_id, tenant_id, correlation_id, metadata
         from audit_logs where (resource_id = $1 or metadata ->> 'subject_id' = $1) order by id`,
        [id],
      )
    ).filter((row) => (action ?? row.action) === row.action && (result ?? row.result) === row.result)
  return { deliver, deposit, doors, listed, nothing, open, operate, promised, recordOf, revoke, runtimes, stateOf, withSecret }
}
