import { formOf } from './fuzz/rightful-calls.ts'
import type { Answered, LiveServer } from './live-server.ts'
import { auroraHome, machineWithSecret } from './machine-credential.ts'

export const formType = 'application/x-www-form-urlencoded'

/** Sends a form, as a client of OAuth does. */
export const postForm = (
  live: Pick<LiveServer, 'call'>,
  path: string,
  fields: string | Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
  base?: string,
): Promise<Answered> =>
  live.call(
    null,
    'POST',
    path,
    { raw: typeof fields === 'string' ? fields : formOf(fields), headers: { 'content-type': formType, ...headers } },
    base,
  )

export const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` })

/** A machine as an OAuth client: its key is the client. */
export const oauthClient = async (live: Pick<LiveServer, 'sql' | 'call'>, home = auroraHome, role?: string) => {
  const machine = await machineWithSecret(live, home, role)
  const own = { client_id: machine.key_id, client_secret: machine.client_secret }
  const to =
    (path: string) =>
    (fields: Readonly<Record<string, unknown>> = {}, headers?: Record<string, string>, base?: string) =>
      postForm(live, path, { ...own, ...fields }, headers, base)
  const ask = (fields: Readonly<Record<string, unknown>> = {}, headers?: Record<string, string>, base?: string) =>
    to('/oauth2/token')({ grant_type: 'client_credentials', ...fields }, headers, base)
  return {
    ...machine,
    ...own,
    own,
    ask,
    /** The same at the endpoint that speaks JSON. */
    machine_ask: machine.ask,
    /** A token that counts. */
    token: async (fields: Readonly<Record<string, unknown>> = {}): Promise<string> => {
      const { status, text, body } = await ask(fields)
      if (status !== 200) throw new Error(`no token was issued: ${status} ${text}`)
      return body.access_token
    },
    introspect: to('/oauth2/introspect'),
    revoke: to('/oauth2/revoke'),
  }
}
