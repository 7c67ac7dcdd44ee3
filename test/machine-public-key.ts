import { keyPair, type Pair } from '../server/src/machines/oauth/testing/signing.ts'
import { machineOn } from './machine.ts'
import { auroraHome } from './machine-credential.ts'

type Sql = <Row>(text: string, values?: unknown[]) => Promise<Row[]>

/** A service account whose key is a public one, and the pair of it. */
export const machineWithPublicKey = async (sql: Sql, alg: Pair['alg'] = 'ES256', home = auroraHome) => {
  const { account_id, key_id } = await machineOn(sql, home)
  const pair = keyPair(alg)
  await sql('update service_account_keys set salt = null, secret_hash = null, alg = $2, public_jwk = $3 where id = $1', [
    key_id,
    alg,
    JSON.stringify(pair.jwk),
  ])
  return { account_id: account_id as string, client_id: key_id as string, pair }
}

/** Sends a form as a client of OAuth does. */
export const sendForm = async (base: string, path: string, form: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(`${base}${path}`, { method: 'POST', body: new URLSearchParams(form), headers })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers as a stranger would, without our types
  return { status: response.status, headers: response.headers, text, body: (text === '' ? null : JSON.parse(text)) as any }
}
