import { issueSharedRuntimeOperatorToken } from '../contract/src/tokens.ts'
import { newId } from '../server/src/ground/kernel/ids.ts'
import { hashOf } from '../server/src/machines/service-accounts/key-secret.ts'
import { newOperatorSecret } from '../server/src/runtimes/operator-credentials/operator-credential.ts'
import { askThrough } from './ask.ts'
import { type LiveServer, seeded } from './live-server.ts'

export const operatorTokenPath = '/api/v1/auth/shared-runtime-operator/token'

/** A credential of this runtime's operator, whose secret is known here, and how it asks for a token. */
export const operatorWithSecret = async (live: Pick<LiveServer, 'sql' | 'call'>, shared_runtime_id: string) => {
  const [key_id, secret] = [newId('operator credential') as string, newOperatorSecret()]
  const { salt, secret_hash } = hashOf(secret)
  await live.sql(
    `insert into shared_runtime_operator_credentials (id, shared_runtime_id, salt, secret_hash, epoch, created_at, created_by)
     select $1, $2, $3, $4, epoch, now(), $5 from installation`,
    [key_id, shared_runtime_id, salt, secret_hash, seeded.user('alice')],
  )
  const credential = { shared_runtime_id, key_id, client_secret: secret.reveal() }
  const ask = (body: object = {}, headers: Record<string, string> = {}, base?: string) =>
    askThrough(live.call)(null, issueSharedRuntimeOperatorToken, { body: { ...credential, ...body }, headers, base })
  return {
    ...credential,
    credential,
    ask,
    /** A token that counts. */
    token: async (body: object = {}): Promise<string> => {
      const { status, text, body: issued } = await ask(body)
      if (status !== 200) throw new Error(`no token was issued: ${status} ${text}`)
      return issued.access_token
    },
  }
}
