import { issueServiceAccountToken } from '../contract/src/tokens.ts'
import { hashOf, newSecret } from '../server/src/machines/service-accounts/key-secret.ts'
import { askThrough } from './ask.ts'
import { type LiveServer, seeded } from './live-server.ts'
import { machineOn } from './machine.ts'

export const tokenPath = '/api/v1/auth/service-account/token'
export const auroraHome = { org_id: seeded.org.aurora, project_id: seeded.project.aurora }

/** A service account with a key whose secret is known here, and how it asks for a token. */
export const machineWithSecret = async (live: Pick<LiveServer, 'sql' | 'call'>, home = auroraHome, role?: string) => {
  const { account_id, key_id } = await machineOn(live.sql, home, role)
  const secret = newSecret()
  const { salt, secret_hash } = hashOf(secret)
  await live.sql('update service_account_keys set salt = $2, secret_hash = $3 where id = $1', [key_id, salt, secret_hash])
  const credential = { service_account_id: account_id as string, key_id: key_id as string, client_secret: secret.reveal() }
  const ask = (body: object = {}, headers: Record<string, string> = {}, base?: string) =>
    askThrough(live.call)(null, issueServiceAccountToken, { body: { ...credential, ...body }, headers, base })
  return { ...credential, credential, ask }
}
