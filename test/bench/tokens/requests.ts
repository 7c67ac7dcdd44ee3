import { decide } from '@gatehouse/contract/decisions'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import type { Account } from './accounts.ts'

const post = (path: string, fields: object, token?: string): string => {
  const body = JSON.stringify(fields)
  const bearer = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
  return `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n${bearer}content-length: ${body.length}\r\n\r\n${body}`
}

export const issuances = (accounts: readonly Account[], scope: string): string[] =>
  accounts.map(({ id, key_id, secret }) =>
    post(issueServiceAccountToken.path, { service_account_id: id, key_id, client_secret: secret, scope }),
  )

/** The cheapest that a machine can ask: may I do this here? The answer is an allow only if its token is live. */
export const questions = (accounts: readonly Account[], tokens: readonly string[]): string[] =>
  tokens.map((token, index) => {
    const { org_id, project_id } = accounts[index % accounts.length]!
    return post(decide.path, { action: 'allocation.read', resource: { type: 'allocation', tenant_id: org_id, project_id } }, token)
  })
