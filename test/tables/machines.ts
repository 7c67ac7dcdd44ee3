import { inserting, type Tables } from './spelled.ts'

/** One in its grace: of those that sign and wait there is at most one each. */
const signingKey = (changed: Record<string, string> = {}) =>
  inserting('signing_keys', {
    kid: `'another-key'`,
    alg: `'ES256'`,
    public_jwk: `'{}'`,
    custody: `'envelope'`,
    envelope: `'{}'`,
    state: `'grace'`,
    created_at: 'now()',
    activated_at: 'now()',
    grace_until: 'now()',
    ...changed,
  })
const activeKey = { state: `'active'`, grace_until: 'null' }
const stagedKey = { ...activeKey, state: `'staged'`, activated_at: 'null' }
const serviceAccount = (id: string, of: string, org_id: string, slug: string, changed: Record<string, string> = {}) =>
  inserting('service_accounts', {
    id: `:${id}`,
    org_id: `:${org_id}`,
    project_id: `:${of}`,
    name: `'Robot'`,
    slug: `'${slug}'`,
    created_at: 'now()',
    ...changed,
  })
const serviceAccountKey = (changed: Record<string, string> = {}) => {
  const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
  const values = {
    id: ':new',
    service_account_id: ':sa',
    salt: bytes(16),
    secret_hash: bytes(32),
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    ...changed,
  }
  return inserting('service_account_keys', values)
}
const publicKey = (changed: Record<string, string> = {}) =>
  serviceAccountKey({ salt: 'null', secret_hash: 'null', alg: `'ES256'`, public_jwk: `'{}'`, ...changed })
const usedProof = (changed: Record<string, string> = {}) =>
  inserting('used_proofs', { kind: `'dpop'`, subject: `'x'`, jti_hash: `decode(repeat('00', 32), 'hex')`, expires_at: 'now()', ...changed })
const issuedToken = (changed: Record<string, string> = {}) =>
  inserting('issued_tokens', {
    id: ':new',
    actor_type: `'service_account'`,
    actor_id: ':sa',
    credential_id: ':new',
    org_id: ':aurora',
    project_id: ':training',
    typ: `'sa+jwt'`,
    kid: `'active-key'`,
    audience: `'gpuaas-api'`,
    scope: `'{}'`,
    epoch: '1',
    issued_at: 'now()',
    expires_at: `now() + interval '1 hour'`,
    ...changed,
  })
const tokenCutoff = (changed: Record<string, string> = {}) =>
  inserting('token_cutoffs', {
    id: ':new',
    subject_type: `'actor'`,
    subject_id: ':sa',
    org_id: ':aurora',
    issued_before: 'now()',
    created_at: 'now()',
    created_by: `'x'`,
    reason: `'x'`,
    ...changed,
  })

export const machines: Tables = {
  names: ['service_accounts', 'service_account_keys', 'signing_keys', 'used_proofs', 'issued_tokens', 'token_cutoffs'],
  world: `
  ${serviceAccount('sa', 'training', 'aurora', 'robot')};
  ${serviceAccountKey()};
  ${signingKey({ kid: `'active-key'`, ...activeKey })};
  ${signingKey({ kid: `'staged-key'`, ...stagedKey })};
  ${issuedToken()};
  ${tokenCutoff()};`,
  refused: [
    ['TI-13', 'a second key that signs', 'signing_keys_one_active', signingKey(activeKey)],
    ['TI-13', 'a second key that waits', 'signing_keys_one_staged', signingKey(stagedKey)],
    ['TI-13', 'a key with a name that needs escaping', 'signing_keys_kid_check', signingKey({ kid: `'a key/of mine'` })],
    ['TI-13', 'a key for another algorithm', 'signing_keys_alg_check', signingKey({ alg: `'RS256'` })],
    ['TI-13', 'a key in another state', 'signing_keys_state_check', signingKey({ state: `'paused'`, ended_at: 'now()' })],
    ['TI-13', 'a key of no epoch', 'signing_keys_epoch_check', signingKey({ epoch: '0' })],
    ['TI-13', 'a key without a public part', 'signing_keys_public', signingKey({ public_jwk: 'null' })],
    [
      'TI-13',
      'a shared secret with a public part',
      'signing_keys_public',
      signingKey({ alg: `'HS256'`, custody: `'envelope_key'`, envelope: 'null', envelope_key_id: `'k'` }),
    ],
    ['TI-14', 'a key that is kept nowhere', 'signing_keys_custody', signingKey({ envelope: 'null' })],
    ['TI-14', 'a key that is kept in two places', 'signing_keys_custody', signingKey({ transit_name: `'k'`, transit_version: '1' })],
    [
      'TI-14',
      'a key of a transit engine without its version',
      'signing_keys_custody',
      signingKey({ custody: `'transit'`, envelope: 'null', transit_name: `'k'` }),
    ],
    [
      'TI-14',
      'a key that is kept somewhere unknown',
      'signing_keys_custody_check',
      signingKey({ alg: `'HS256'`, public_jwk: 'null', custody: `'pocket'`, envelope: 'null', envelope_key_id: `'k'` }),
    ],
    ['TI-13', 'a key that signs since never', 'signing_keys_states', `update signing_keys set activated_at = null where state = 'active'`],
    ['TI-13', 'a key with a grace without end', 'signing_keys_states', signingKey({ grace_until: 'null' })],
    ['TI-13', 'a revoked key without an end', 'signing_keys_states', signingKey({ state: `'revoked'` })],
    [
      'TI-25',
      'a slug of a living service account once more',
      'service_account_already_exists',
      serviceAccount('new', 'training', 'aurora', 'robot'),
    ],
    [
      'TI-25',
      'a service account without a name',
      'service_accounts_name_check',
      serviceAccount('new', 'training', 'aurora', 'x', { name: `''` }),
    ],
    ['TI-25', 'a service account with a bad slug', 'service_accounts_slug_check', serviceAccount('new', 'training', 'aurora', 'x_x')],
    ['TI-25', 'an unknown state of a service account', 'service_accounts_state_check', `update service_accounts set state = 'asleep'`],
    [
      'TI-25',
      'a service account in a project of another organization',
      'service_accounts_of_project',
      serviceAccount('new', 'training', 'borealis', 'x'),
    ],
    [
      'TI-25',
      'a service account disabled without a reason',
      'service_accounts_disabled_whole',
      `update service_accounts set state = 'disabled'`,
    ],
    [
      'TI-25',
      'an active service account with the marks of a disabled one',
      'service_accounts_disabled_whole',
      `update service_accounts set disabled_at = now(), disabled_by = :ada, disable_reason = 'x'`,
    ],
    [
      'TI-25',
      'an active service account that the platform has disabled',
      'service_accounts_disabled_whole',
      'update service_accounts set is_disabled_by_platform = true',
    ],
    ['TI-25', 'a service account deleted without a reason', 'service_accounts_end_whole', `update service_accounts set state = 'deleted'`],
    ['HO-08', 'a key of no epoch', 'service_account_keys_epoch_check', serviceAccountKey({ epoch: '0' })],
    ['TI-11', 'a key with a short salt', 'service_account_keys_salt_check', serviceAccountKey({ salt: `'\\x00'` })],
    [
      'TI-11',
      'a key with a secret where its hash should be',
      'service_account_keys_secret_hash_check',
      serviceAccountKey({ secret_hash: `'ghsa_'` }),
    ],
    [
      'TI-11',
      'a key with a secret and a public part',
      'service_account_keys_one_kind',
      publicKey({ salt: `decode(repeat('00', 16), 'hex')`, secret_hash: `decode(repeat('00', 32), 'hex')` }),
    ],
    ['TI-11', 'a key with neither', 'service_account_keys_one_kind', publicKey({ alg: 'null', public_jwk: 'null' })],
    ['TI-11', 'a public key for no algorithm', 'service_account_keys_one_kind', publicKey({ alg: 'null' })],
    ['TI-11', 'a secret without its salt', 'service_account_keys_one_kind', serviceAccountKey({ salt: 'null' })],
    ['TI-13', 'a public key for an algorithm of shared secrets', 'service_account_keys_alg_check', publicKey({ alg: `'HS256'` })],
    ['TI-11', 'a private part', 'service_account_keys_public_jwk_check', publicKey({ public_jwk: `'{"d":"x"}'` })],
    ['TI-17', 'a proof of another kind', 'used_proofs_kind_check', usedProof({ kind: `'other'` })],
    ['TI-17', "a proof of nobody's", 'used_proofs_subject_check', usedProof({ subject: `''` })],
    ['TI-11', 'the name of a proof in the place of its digest', 'used_proofs_jti_hash_check', usedProof({ jti_hash: `'x'` })],
    ['TI-25', 'a key revoked without a reason', 'service_account_keys_revoked_whole', 'update service_account_keys set revoked_at = now()'],
    ['TI-23', 'a token of a person', 'issued_tokens_actor_type_check', issuedToken({ actor_type: `'user'` })],
    ['TI-23', 'a token that ends as it begins', 'issued_tokens_check', issuedToken({ expires_at: 'now()' })],
    ['TI-23', 'a token of no epoch', 'issued_tokens_epoch_check', issuedToken({ epoch: '0' })],
    ['TI-02', "a service account's token without a project", 'issued_tokens_bound', issuedToken({ project_id: 'null' })],
    ['TI-02', "a service account's token for no credential", 'issued_tokens_bound', issuedToken({ credential_id: 'null' })],
    [
      'TI-02',
      "an operator's token with a project",
      'issued_tokens_bound',
      issuedToken({ actor_type: `'shared_runtime_operator'`, credential_id: 'null' }),
    ],
    [
      'TI-02',
      "a workload's token without an organization",
      'issued_tokens_bound',
      issuedToken({ actor_type: `'workload'`, org_id: 'null' }),
    ],
    ['TI-02', 'a token in a project of nobody', 'issued_tokens_bound', issuedToken({ actor_type: `'node_agent'`, org_id: 'null' })],
    ['TI-02', 'a token in a project that there is not', 'issued_tokens_in_project', issuedToken({ project_id: ':nowhere' })],
    ['TI-02', 'a token in a project of another organization', 'issued_tokens_in_project', issuedToken({ org_id: ':nowhere' })],
    [
      'TI-02',
      'a token of an organization that there is not',
      'issued_tokens_org_id_alone_fkey',
      issuedToken({ actor_type: `'shared_runtime_operator'`, org_id: ':nowhere', project_id: 'null' }),
    ],
    ['TI-16', 'a token revoked without a reason', 'issued_tokens_revoked_whole', 'update issued_tokens set revoked_at = now()'],
    ['TI-23', 'a key in the place of its thumbprint', 'issued_tokens_cnf_jkt_check', issuedToken({ cnf_jkt: `'{}'` })],
    ['TI-23', 'an actor that is no object', 'issued_tokens_act_check', issuedToken({ act: `'"x"'` })],
    ['TI-17', 'somebody who acts by nobody’s token', 'issued_tokens_acting', issuedToken({ act: `'{"sub": "x"}'` })],
    ['TI-16', 'a cut-off of something unknown', 'token_cutoffs_subject_type_check', tokenCutoff({ subject_type: `'node'` })],
    ['TI-16', 'a cut-off that reaches to no number', 'token_cutoffs_until_number_check', tokenCutoff({ until_number: '-1' })],
    ['TI-16', 'a cut-off of nobody', 'token_cutoffs_subject', tokenCutoff({ subject_id: 'null' })],
    ['TI-16', "a cut-off in nobody's log", 'token_cutoffs_subject', tokenCutoff({ org_id: 'null' })],
    ['TI-16', 'a cut-off of the platform with a subject', 'token_cutoffs_subject', tokenCutoff({ subject_type: `'platform'` })],
  ],
  allowed: [
    [
      'a slug again when its service account is deleted',
      `update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = :ada, delete_reason = 'x'; ${serviceAccount('new', 'training', 'aurora', 'robot')}`,
    ],
    ['the same slug in another project', serviceAccount('new', 'inference', 'borealis', 'robot')],
    ['several keys of one service account', serviceAccountKey()],
    ['a key without a secret', publicKey()],
  ],
}
