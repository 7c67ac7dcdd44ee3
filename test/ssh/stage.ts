import { randomBytes, randomUUID } from 'node:crypto'
import type { DesiredKey, TaskParams } from '@gatehouse/contract/node-tasks'
import type { Done, Hands, Happening, Wanted } from '../../agent/src/hands.ts'
import type { Layout } from '../../agent/src/ssh/layout.ts'
import { realHands } from '../../agent/src/ssh/real-hands.ts'
import { prepareSshd } from '../../agent/src/ssh/sshd.ts'
import { newPair, type Pair } from './client.ts'
import { type PrivateSshd, privateSshd } from './private-sshd.ts'

export const newUsername = (): string => `gh-${randomBytes(6).toString('hex')}`

/** A key of a set, held by one person by a grant. */
export const desired = ({ key_type, blob, fingerprint }: Pair, expires_at: string | null = null): DesiredKey =>
  ({
    key_type,
    blob,
    fingerprint,
    expires_at,
    holders: [{ grant_id: randomUUID(), ssh_key_id: randomUUID(), user_id: randomUUID(), expires_at }],
  }) as DesiredKey

export interface StagedAccount {
  readonly allocation_id: string
  readonly username: string
  readonly install: (
    keys: readonly DesiredKey[],
    terms?: Pick<TaskParams<'allocation.provision_user'>, 'devices' | 'bounds'>,
  ) => Promise<Done>
  readonly drift: (now?: Date) => Promise<boolean>
  readonly remove: () => Promise<Done>
}

/** Real hands on a system with an sshd of its own; tasks are given to them without a control plane. */
export const sshStage = async (changed: Partial<Layout> = {}, makeHands: typeof realHands = realHands) => {
  const sshd: PrivateSshd = await privateSshd(changed)
  await prepareSshd(sshd.layout)
  await sshd.start()
  const told: Happening[] = []
  const hands: Hands = await makeHands(sshd.layout)(async (happening) => void told.push(happening))
  let pairs = 0

  const account = async (username = newUsername(), allocation_id: string = randomUUID()): Promise<StagedAccount> => {
    let wanted: Wanted = { allocation_id, username, type: 'allocation.provision_user', generation: 1, params: {} }
    const of = { allocation_id, username } as TaskParams<'allocation.provision_user'>
    await hands.provisionUser(of, 1)
    return {
      allocation_id,
      username,
      install: (keys, terms = {}) => {
        const params = { ...of, ...terms, keys: [...keys], set_hash: 'h'.repeat(43) }
        wanted = { ...wanted, type: 'allocation.install_authorized_keys', generation: wanted.generation + 1, params }
        return hands.installKeys(params, wanted.generation)
      },
      drift: (now = new Date()) => hands.drift(wanted, now),
      remove: () => hands.deprovisionUser(of, wanted.generation + 1),
    }
  }
  return {
    sshd,
    hands,
    /** As an agent that was started anew. */
    otherHands: () => makeHands(sshd.layout)(async (happening) => void told.push(happening)),
    told,
    account,
    pair: (name = 'somebody', type?: string) => {
      pairs += 1
      return newPair(sshd.folder, `${pairs}-${name}`, type)
    },
    stop: sshd.stop,
  }
}
export type SshStage = Awaited<ReturnType<typeof sshStage>>
