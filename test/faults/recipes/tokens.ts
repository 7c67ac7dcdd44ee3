import { anOperator } from './operator-credentials.ts'
import { newProject } from './places.ts'
import { part, type Recipes } from './recipe.ts'
import { aCredential } from './service-accounts.ts'

export const tokens: Recipes = {
  'auth.service_account_token.issue': {
    prepare: async (stage) => ({ person: 'alice', params: {}, body: { ...(await aCredential(stage)), reason: stage.word() } }),
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1 and reason = $2', body.key_id, body.reason)],
    actions: ['auth.token.issue'],
  },
  'auth.token.revoke': {
    prepare: async (stage) => ({
      person: 'alice',
      params: {},
      body: { project_id: (await newProject(stage)).id, reason: stage.word() },
    }),
    effect: ({ body }) => [part('cut-off', 'token_cutoffs where subject_id = $1 and reason = $2', body.project_id, body.reason)],
  },
  'auth.shared_runtime_operator_token.issue': {
    prepare: async (stage) => ({ person: 'alice', params: {}, body: (await anOperator(stage)).body }),
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1 and reason = $2', body.key_id, body.reason)],
    actions: ['auth.token.issue'],
  },
  'oauth.token.issue': {
    prepare: async (stage) => {
      const { key_id, client_secret } = await aCredential(stage)
      return { person: 'alice', params: {}, body: { grant_type: 'client_credentials', client_id: key_id, client_secret } }
    },
    effect: ({ body }) => [part('token', 'issued_tokens where credential_id = $1', body.client_id)],
    actions: ['auth.token.issue'],
  },
  'oauth.token.revoke': {
    prepare: async (stage) => {
      const credential = await aCredential(stage)
      const { key_id: client_id, client_secret } = credential
      const issued: unknown = await stage.done('auth.service_account_token.issue', { person: 'alice', params: {}, body: credential })
      return { person: 'alice', params: {}, body: { client_id, client_secret, token: (issued as { access_token: string }).access_token } }
    },
    effect: ({ body }) => [part('revoked', 'issued_tokens where credential_id = $1 and revoked_at is not null', body.client_id)],
    actions: ['auth.token.revoke'],
  },
}
