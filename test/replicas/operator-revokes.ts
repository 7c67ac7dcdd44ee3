import { newId } from '../../server/src/ground/kernel/ids.ts'
import { operatorTokenPath } from '../operator-credential.ts'
import { type About, allowIn, send } from './asking.ts'
import type { Revoke } from './revoke.ts'

/** Where the runtime lies, who manages it, and how something is done by the API. */
interface Home {
  readonly org_id: string
  readonly project_id: string
  readonly owner: string
  readonly done: (base: string, by: string, method: string, path: string, body: unknown) => Promise<{ id: string } & Record<string, string>>
}

const because = { reason: 'end of a round' }

/** Whatever ends what an operator has: of its token, of the credential that this was issued for, of a project, of the runtime. */
export const operatorRevokes = ({ org_id, project_id, owner, done }: Home): Revoke[] => {
  const runtimes = `/orgs/${org_id}/shared-app-runtimes`
  /** Made when they are first needed, and anew after they were deleted. */
  let made: { id: string; key_id: string; client_secret: string } | undefined
  let attached: string | undefined
  const runtime = () => `${runtimes}/${made!.id}`

  const begin = async (base: string): Promise<About> => {
    if (!made) {
      const draft = { app_slug: 'slurm', app_version: '24.05', display_name: newId('correlation'), runtime_backend: 'slurm' }
      const { id } = await done(base, owner, 'POST', runtimes, draft)
      made = { id, key_id: '', client_secret: '' }
    }
    if (made.key_id === '') {
      const { key_id, client_secret } = await done(base, owner, 'POST', `${runtime()}/operator-credentials`, {})
      made = { id: made.id, key_id: key_id!, client_secret: client_secret! }
    }
    attached ??= (await done(base, owner, 'POST', `${runtime()}/attachments`, { project_id, contribution_policy: 'all' })).id
    const { id, key_id, client_secret } = made
    for (let attempt = 1; ; attempt += 1) {
      const asked = { shared_runtime_id: id, key_id, client_secret }
      const { status, body } = await send(base, 'POST', operatorTokenPath, '', asked, newId('correlation'))
      if (status === 200) return { type: 'shared_runtime_operator', id, token: body.access_token }
      if (status !== 503 || attempt === 10) throw new Error(`no token was issued: ${status} ${JSON.stringify(body)}`)
    }
  }
  /** The record of the attachment is for the operator while the project is attached. */
  const asks = (base: string, { token }: About) =>
    allowIn(send(base, 'GET', `/api/v1${runtime()}/attachments/${attached}`, token), ({ status }) => status === 200)

  const revokeOf = (
    kind: string,
    is_of_token: boolean,
    revoke: (base: string) => Promise<unknown>,
    restore: Revoke['restore'],
  ): Revoke => ({
    kind,
    question: () => ({
      action: 'tenant.shared_runtime.read',
      resource: { type: 'shared_runtime', id: made!.id, tenant_id: org_id, project_id },
    }),
    revoke,
    restore,
    machine: { begin, is_of_token, asks },
  })
  const nothing = async () => {}
  const tokenOf = {
    actor: () => ({ actor: { type: 'shared_runtime_operator', id: made!.id } }),
    credential: () => ({ credential_id: made!.key_id }),
  }
  const cutOff = (base: string, subject: object) => done(base, owner, 'POST', '/auth/tokens/revoke', { ...subject, ...because })
  return [
    revokeOf(
      'attachment detached',
      false,
      (base) => done(base, owner, 'DELETE', `${runtime()}/attachments/${attached}`, because),
      async () => {
        attached = undefined
      },
    ),
    revokeOf('tokens of an operator cut off', true, (base) => cutOff(base, tokenOf.actor()), nothing),
    revokeOf('tokens of an operator’s credential cut off', true, (base) => cutOff(base, tokenOf.credential()), nothing),
    revokeOf(
      'credential of an operator revoked',
      true,
      (base) => done(base, owner, 'DELETE', `${runtime()}/operator-credentials/${made!.key_id}`, because),
      async () => {
        made = { ...made!, key_id: '' }
      },
    ),
    revokeOf(
      'shared runtime disabled',
      false,
      (base) => done(base, owner, 'POST', `${runtime()}/disable`, because),
      (base) => done(base, owner, 'POST', `${runtime()}/enable`, because),
    ),
    revokeOf(
      'shared runtime deleted',
      false,
      (base) => done(base, owner, 'DELETE', runtime(), because),
      async () => {
        made = undefined
        attached = undefined
      },
    ),
  ]
}
