import { decodeJwt } from 'jose'
import { exchangeGrant, tokenTypes } from '../contract/src/oauth.ts'
import { fixture } from './fixture.ts'
import { type Answered, type LiveServer, seeded } from './live-server.ts'
import { auroraHome } from './machine-credential.ts'
import { oauthClient, postForm } from './oauth-client.ts'

export type Client = Awaited<ReturnType<typeof oauthClient>>
const { org, project } = seeded

export type Fields = Readonly<Record<string, unknown>>
export const said = ({ status, body }: Answered) => `${status} ${body.error}`
export const refused = '400 invalid_request'
export const dead = '401 token_invalid'

export const ada = `'${seeded.user('ada')}'`

/** Clients and steps that tests of token exchange share. */
export const exchangesOn = (live: LiveServer) => {
  const replica = fixture(() => live.replica())
  const owner = fixture(() => oauthClient(live))
  const other = fixture(() => oauthClient(live, auroraHome, 'project_viewer'))
  const third = fixture(() => oauthClient(live))
  const stranger = fixture(() => oauthClient(live, { org_id: org.borealis, project_id: project.borealis }))
  const swap = (client: Client, subject_token: string, fields: Fields = {}, headers: Record<string, string> = {}, base?: string) =>
    postForm(
      live,
      '/oauth2/token',
      { ...client.own, grant_type: exchangeGrant, subject_token, subject_token_type: tokenTypes.access_token, ...fields },
      headers,
      base,
    )
  const swapped = async (...asked: Parameters<typeof swap>): Promise<string> => {
    const { status, text, body } = await swap(...asked)
    if (status !== 200) throw new Error(`nothing was exchanged: ${status} ${text}`)
    return body.access_token
  }
  const recorded = ({ headers }: Answered) => live.auditOf(headers.get('x-request-id')!)
  const rowOf = async (token: string) => (await live.sql('select * from issued_tokens where id = $1', [decodeJwt(token).jti]))[0]!

  const bearing = (token: string, method: string, path: string, body?: unknown, base?: string) =>
    live.call(null, method, path, { headers: { authorization: `Bearer ${token}` }, ...(body === undefined ? {} : { body }) }, base)
  const opens = async (token: string, base?: string): Promise<string> => {
    const { status, body } = await bearing(token, 'GET', `/api/v1/projects/${auroraHome.project_id}`, undefined, base)
    return status === 200 ? 'open' : `${status} ${body.details?.reason_code ?? body.code}`
  }
  const onAll = (token: string) => Promise.all([live, replica].map(({ url }) => opens(token, url)))
  const disable = ({ service_account_id: id }: Client) =>
    live.sql(
      `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = ${ada}, disable_reason = 'x' where id = $1`,
      [id],
    )
  const enable = ({ service_account_id: id }: Client) =>
    live.sql(`update service_accounts set state = 'active', disabled_at = null, disabled_by = null, disable_reason = null where id = $1`, [
      id,
    ])
  return { bearing, disable, enable, onAll, opens, other, owner, recorded, replica, rowOf, stranger, swap, swapped, third }
}
