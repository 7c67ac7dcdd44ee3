import { type LiveServer, seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const { org, project } = seeded
const at = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!
const few = [0, 1, 2]

/** Shared runtimes to be read and rewritten, to be switched on and off, to be ended; and projects to be attached and detached. */
export const worldOfRuntimes = async (live: LiveServer, spare: readonly string[]) => {
  const inOrg = { org_id: org.aurora }
  const path = `/api/v1/orgs/${org.aurora}/shared-app-runtimes`
  const make = async (at: string, body: object): Promise<string> => (await live.call('adam', 'POST', at, { body })).body.id
  const runtimes: Record<'kept' | 'switched' | 'ended', string[]> = { kept: [], switched: [], ended: [] }
  for (const [use, made] of Object.entries(runtimes))
    for (const n of few)
      made.push(await make(path, { app_slug: 'fuzz', app_version: '1', display_name: `${use} ${n}`, runtime_backend: 'ray' }))
  const versions = new Map<string, number>()
  const attach = async (shared_runtime_id: string, project_id: string) => {
    const body = { project_id, contribution_policy: 'none' }
    return { shared_runtime_id, attachment_id: await make(`${path}/${shared_runtime_id}/attachments`, body) }
  }
  // One that nobody detaches.
  const stays = await attach(runtimes.kept[0]!, project.aurora)
  const attached: (typeof stays)[] = []
  for (const project_id of spare) attached.push(await attach(runtimes.kept[0]!, project_id))

  const credentials: { shared_runtime_id: string; credential_id: string }[] = []
  for (const n of few) {
    const shared_runtime_id = at(runtimes.kept, n)
    const body = { name: `left-${n}`, secret: 'left by the fuzzer' }
    credentials.push({ shared_runtime_id, credential_id: await make(`${path}/${shared_runtime_id}/credentials`, body) })
  }

  const on = (use: keyof typeof runtimes) => (pick: number) => ({
    person: 'adam',
    params: { ...inOrg, shared_runtime_id: at(runtimes[use], pick) ?? runtimes.kept[0]! },
  })
  const onAttachment = (which: typeof stays) => ({ person: 'adam', params: { ...inOrg, ...which } })
  const onKept = [
    'read',
    'members.read',
    'eligible_project.list',
    'attachment.list',
    'allocation.list',
    'status.report',
    'members.report',
    'credential.list',
  ]
  const calls: Record<string, (pick: number) => RightfulCall> = {
    'shared_runtime.create': () => ({ person: 'adam', params: inOrg, body: { eligible_project_ids: [project.aurora] } }),
    'shared_runtime.update': (pick) => {
      const call = on('kept')(pick)
      return { ...call, body: { eligible_project_ids: [], expected_version: versions.get(call.params.shared_runtime_id) ?? 1 } }
    },
    'shared_runtime.disable': on('switched'),
    'shared_runtime.enable': on('switched'),
    'shared_runtime.delete': on('ended'),
    'shared_runtime.credential.deposit': (pick) => ({ ...on('kept')(pick), body: { secret: 'left by the fuzzer' } }),
    'shared_runtime.credential.deliver': (pick) => ({ ...on('kept')(pick), body: { name: 'left-0' } }),
    'shared_runtime.credential.revoke': (pick) => ({
      person: 'adam',
      params: { ...inOrg, ...(at(credentials, pick) ?? { shared_runtime_id: runtimes.kept[0]!, credential_id: stays.attachment_id }) },
    }),
    'delivery.unwrap': () => ({ person: 'adam', params: {} }),
    ...Object.fromEntries(onKept.map((verb) => [`shared_runtime.${verb}`, on('kept')])),
    'shared_runtime.attachment.create': (pick) => ({
      ...on('kept')(1 + (pick % 2)),
      body: { project_id: at([project.aurora, ...spare], pick >> 3) },
    }),
    'shared_runtime.attachment.read': () => onAttachment(stays),
    'shared_runtime.attachment.update': () => onAttachment(stays),
    'shared_runtime.attachment.delete': (pick) => onAttachment(at(attached, pick) ?? stays),
  }
  return {
    calls,
    learn: (
      operation: string,
      params: Readonly<Record<string, string>>,
      body: { id: string; shared_runtime_id: string; version: number },
    ): void => {
      if (operation === 'shared_runtime.create') runtimes.ended.push(body.id)
      if (operation === 'shared_runtime.delete') runtimes.ended.splice(runtimes.ended.indexOf(params.shared_runtime_id!), 1)
      if (operation === 'shared_runtime.update') versions.set(body.id, body.version)
      if (operation === 'shared_runtime.attachment.create')
        attached.push({ shared_runtime_id: body.shared_runtime_id, attachment_id: body.id })
      if (operation === 'shared_runtime.credential.deposit')
        credentials.push({ shared_runtime_id: body.shared_runtime_id, credential_id: body.id })
      const isLeft = ({ credential_id }: (typeof credentials)[number]) => credential_id === params.credential_id
      if (operation === 'shared_runtime.credential.revoke' && credentials.some(isLeft)) credentials.splice(credentials.findIndex(isLeft), 1)
      const isIt = ({ attachment_id }: typeof stays) => attachment_id === params.attachment_id
      if (operation === 'shared_runtime.attachment.delete' && attached.some(isIt)) attached.splice(attached.findIndex(isIt), 1)
    },
  }
}
