import { accessStage, keyOf } from '../access-stage.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import type { RightfulCall } from './rightful-call.ts'

const { project, user } = seeded
const at = <T>(list: readonly T[], pick: number): T => list[pick % list.length]!
const few = [0, 1, 2, 3]

/** Allocations on a node, some to be kept and some to be given back; who is let in there, and with which keys. */
export const worldOfAccess = async (live: LiveServer) => {
  const stage = await accessStage(live, {}, { region: 'fuzz', sku: 'fuzz' })
  const kept: string[] = []
  const released: string[] = []
  for (const list of [kept, released]) for (const _ of few) list.push((await stage.allocation('asha', [], false)).id)
  await stage.model.settle()
  const own = await keyOf(live, 'asha')
  const keys = await Promise.all(few.map(() => keyOf(live, 'amara')))
  const grants: { allocation_id: string; grant_id: string }[] = []
  for (const allocation_id of kept)
    grants.push({ allocation_id, grant_id: (await stage.granted('asha', allocation_id, 'amara', keys[0]!)).id })
  stage.stop()

  const on = (list: readonly string[]) => (pick: number) => ({ person: 'asha', params: { allocation_id: at(list, pick) } })
  const onKept = on(kept)
  /** Neither a runtime nor a key that chance names is there. */
  const plain = { shared_runtime_id: undefined, ssh_key_ids: undefined }
  const calls: Record<string, (pick: number) => RightfulCall> = {
    'allocation.create': () => ({ person: 'asha', params: {}, body: { ...plain, project_id: project.aurora } }),
    'allocation.read': onKept,
    'allocation.release': on(released),
    'allocation.ssh_keys.replace': (pick) => ({ ...onKept(pick), body: { ssh_key_ids: pick % 2 === 0 ? [] : [own.id] } }),
    'allocation.owner.name': (pick) => ({ ...onKept(pick), person: 'amara', body: { user_id: user('asha') } }),
    'allocation.ssh_session.list': onKept,
    'allocation.access_grant.list': onKept,
    'allocation.access_grant.create': (pick) => ({
      ...onKept(pick),
      // Whatever end chance names lies in the past.
      body: { grantee_user_id: user('amara'), ssh_key_id: at(keys, pick >> 3).id, expires_at: undefined },
    }),
    'allocation.access_grant.revoke': (pick) => ({ person: 'asha', params: at(grants, pick) ?? { ...onKept(0).params, grant_id: own.id } }),
    'project.member.ssh_key.list': () => ({ person: 'amara', params: { project_id: project.aurora, user_id: user('amara') } }),
  }
  return {
    calls,
    learn: (operation: string, params: Readonly<Record<string, string>>, body: { id: string; allocation_id: string }): void => {
      const without = <T>(list: T[], isIt: (each: T) => boolean) => list.some(isIt) && list.splice(list.findIndex(isIt), 1)
      if (operation === 'allocation.create') released.push(body.id)
      if (operation === 'allocation.release') without(released, (id) => id === params.allocation_id)
      if (operation === 'allocation.access_grant.create') {
        without(grants, ({ grant_id }) => grant_id === body.id)
        grants.push({ allocation_id: body.allocation_id, grant_id: body.id })
      }
      if (operation === 'allocation.access_grant.revoke') without(grants, ({ grant_id }) => grant_id === params.grant_id)
    },
  }
}
