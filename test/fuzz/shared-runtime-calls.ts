import { seal } from '../../server/src/ground/custody/envelope.ts'
import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { Secret } from '../../server/src/ground/kernel/secret.ts'
import { hashOfToken, newWrappingToken } from '../../server/src/runtimes/deliveries/wrapping-token.ts'
import { boundOfCredential } from '../../server/src/runtimes/runtime-credentials/runtime-credential.ts'
import { seeded, testKeys } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const { org, project, user } = seeded

/** `own` has the seeded project, `bare` has none, `disabled` rests, `end` is there to be ended; `foreign` is another tenant's. */
export const runtimeOf = (name: string) => fixedId('shared runtime', `sweep ${name}`)
export const attachmentOf = (name: string) => fixedId('attachment', `sweep ${name}`)
/** A secret that is left for the runtime of that name, and what opens a delivery of it. */
export const credentialOf = (name: string) => fixedId('runtime credential', `sweep ${name}`)
const tokens = new Map<string, Secret>()
const wrapping = (name: string): Secret => {
  const token = tokens.get(name) ?? newWrappingToken()
  tokens.set(name, token)
  return token
}
export const wrappingTokenOf = (name: string): string => wrapping(name).reveal()

const isOf = (name: string) => (name === 'foreign' ? org.borealis : org.aurora)

export const writeSharedRuntimes = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  const names = ['own', 'bare', 'disabled', 'end', 'foreign']
  await sql(
    `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at,
                                      state, disabled_at, disabled_by, disable_reason)
     select id, org_id, 'sweep', '1', 'Sweep ' || name, 'slurm', now(), $4, now(), case when is_off then 'disabled' else 'requested' end,
            case when is_off then now() end, case when is_off then $4::uuid end, case when is_off then 'sweep' end
       from unnest($1::uuid[], $2::uuid[], $3::text[]) as r (id, org_id, name) cross join lateral (select name = 'disabled') as o (is_off)`,
    [names.map(runtimeOf), names.map(isOf), names, user('ada')],
  )
  await sql(
    `insert into shared_runtime_attachments (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
     select id, runtime_id, org_id, project_id, 'all', now(), 'user', $5, now()
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[]) as a (id, runtime_id, org_id, project_id)`,
    [
      ['own', 'end', 'foreign'].map(attachmentOf),
      ['own', 'end', 'foreign'].map(runtimeOf),
      [org.aurora, org.aurora, org.borealis],
      [project.aurora, project.aurora, project.borealis],
      user('ada'),
    ],
  )
  await writeDeposits(sql)
}

/** For each of these runtimes a secret of the name `sweep`, and a delivery of it that waits for its operator. */
export const writeDeposits = async (
  sql: (text: string, values: unknown[]) => Promise<unknown>,
  named: readonly { readonly name: string; readonly shared_runtime_id: string }[] = ['own', 'end', 'foreign'].map((name) => ({
    name,
    shared_runtime_id: runtimeOf(name),
  })),
): Promise<void> => {
  const ring = parseKeyRing(testKeys)
  for (const { name, shared_runtime_id } of named) {
    const [id, org_id] = [credentialOf(name), isOf(name)]
    const envelope = seal(ring, new Secret(`left for ${name}`), boundOfCredential(id, org_id, shared_runtime_id))
    await sql(
      `insert into shared_runtime_credentials (id, shared_runtime_id, org_id, name, version, envelope, epoch, state, created_at, created_by)
       select $1, $2, $5, 'sweep', 1, $3, epoch, 'active', now(), $4 from installation`,
      [id, shared_runtime_id, JSON.stringify(envelope), user('ada'), org_id],
    )
    await sql(
      `insert into wrapped_deliveries (id, kind, subject_id, org_id, requester_type, requester_id, token_hash, epoch, created_at, ends_at, state_since)
       select $1, 'shared_runtime_credential', $2, r.org_id, 'shared_runtime_operator', r.id, $3, i.epoch, now(), now() + interval '1 hour', now()
         from shared_app_runtimes r cross join installation i where r.id = $4`,
      [fixedId('delivery', `sweep ${name}`), id, hashOfToken(wrapping(name)), shared_runtime_id],
    )
  }
}

const because = { reason: 'because' }
const inOrg = { org_id: org.aurora }
const on = (name: string, person = 'adam') => ({ person, params: { ...inOrg, shared_runtime_id: runtimeOf(name) } })
const attachedTo = (name: string) => ({ person: 'adam', params: { ...on(name).params, attachment_id: attachmentOf(name) } })

export const onSharedRuntimes: Readonly<Record<string, RightfulCall>> = {
  'shared_runtime.list': { person: 'anna', params: inOrg },
  'shared_runtime.create': {
    person: 'adam',
    params: inOrg,
    body: { app_slug: 'slurm', app_version: '1', display_name: 'New', runtime_backend: 'slurm', ...because },
  },
  'shared_runtime.read': on('own', 'anna'),
  'shared_runtime.update': { ...on('own'), body: { app_version: '2', expected_version: 1, ...because } },
  'shared_runtime.disable': { ...on('bare'), body: because },
  'shared_runtime.enable': { ...on('disabled'), body: because },
  'shared_runtime.delete': { ...on('end'), body: because },
  'shared_runtime.attachment.list': on('own', 'anna'),
  'shared_runtime.attachment.create': { ...on('bare'), body: { project_id: project.aurora, contribution_policy: 'none', ...because } },
  'shared_runtime.attachment.read': { ...attachedTo('own'), person: 'anna' },
  'shared_runtime.attachment.update': { ...attachedTo('own'), body: { contribution_policy: 'tagged', ...because } },
  'shared_runtime.attachment.delete': { ...attachedTo('end'), body: because },
  'shared_runtime.eligible_project.list': on('own'),
  'shared_runtime.members.read': on('own', 'anna'),
  // An operator's alone. Whoever it is, a request is read before it is known that he is none; what operators get is proved by themselves.
  'shared_runtime.status.report': { ...on('own'), body: { sequence: 1, state: 'running' } },
  'shared_runtime.members.report': { ...on('own'), body: { sequence: 1, members: [] } },
  'shared_runtime.allocation.list': on('own'),
  'shared_runtime.credential.list': on('own'),
  'shared_runtime.credential.deposit': { ...on('own'), body: { name: 'deposit', secret: 'left by the sweep', ...because } },
  'shared_runtime.credential.revoke': {
    person: 'adam',
    params: { ...on('end').params, credential_id: credentialOf('end') },
    body: because,
  },
  'shared_runtime.credential.deliver': { ...on('own'), body: { name: 'sweep' } },
  'delivery.unwrap': { person: 'adam', params: {}, body: { wrapping_token: wrappingTokenOf('own') } },
}
