import type { DesiredKey, TaskParams } from '@gatehouse/contract/node-tasks'
import { removeDurably } from '../atomic-file.ts'
import { type Done, type Hands, HandsFailed, type MakeHands, type Tell, type Wanted } from '../hands.ts'
import { type Account, ensureAccount, ensureGroup, findAccount, findOurs, removeAccount } from './account.ts'
import { settleGroups } from './cgroup.ts'
import { driftOf, keysText, writeKeysFile } from './keys-file.ts'
import { keysFileOf, type Layout } from './layout.ts'
import { type EndedSession, endSessions, endUnwritten, readSessions, type Session } from './sessions.ts'
import { ensureFolders, prepareSshd, requireReady, requireSshd } from './sshd.ts'
import { tellOfEnded, tellOfSessions } from './tell-of-sessions.ts'

type Install = TaskParams<'allocation.install_authorized_keys'>

/** How often sshd is asked what it would do: it is a process each time. */
const sshd_asked_ms = 30_000

/** Past its end a key is in the file for sshd to refuse; what it opened ends as well. */
const isOver = ({ expires_at }: DesiredKey, now: Date): boolean => expires_at !== null && Date.parse(expires_at) <= now.getTime()

const keysOf = ({ type, params }: Wanted): readonly DesiredKey[] =>
  type === 'allocation.install_authorized_keys' ? (params as unknown as Install).keys : []

const grantsOf = (keys: readonly DesiredKey[]) =>
  keys.flatMap(({ holders }) => holders.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id])))

/** The hands on a real system: its accounts, its sshd, its processes. */
export const realHands =
  (layout: Layout): MakeHands =>
  async (tell: Tell): Promise<Hands> => {
    await ensureFolders(layout)
    await ensureGroup(layout)
    await settleGroups(layout)
    const askedAt = new Map<string, number>()

    const sessionsOf = async (username: string): Promise<Session[]> =>
      (await readSessions(layout)).filter((session) => session.username === username)

    type Ending = Pick<Wanted, 'allocation_id' | 'generation'> & { readonly account: Account; readonly keys: readonly DesiredKey[] }

    /** Written first, then looked for: whoever comes in between is met by the hook. Ended first, then told. */
    const endOthers = async ({ account, keys, ...of }: Ending, now: Date, is_leaving = false): Promise<EndedSession[]> => {
      const good = new Set(keys.filter((key) => !isOver(key, now)).map(({ fingerprint }) => fingerprint))
      const known = new Set(keys.map(({ fingerprint }) => fingerprint))
      const ending = (await sessionsOf(account.username)).filter(({ fingerprint }) => !good.has(fingerprint))
      const ended = await endSessions(layout, account, ending)
      await endUnwritten(layout, account)
      await tellOfEnded({ layout, tell, of }, ending, ended, (fingerprint) => {
        if (is_leaving) return 'account_removed'
        return known.has(fingerprint) ? 'key_expired' : 'key_removed'
      })
      return ended
    }

    const provisionUser: Hands['provisionUser'] = async ({ allocation_id, username }) => {
      await requireReady(layout)
      await ensureAccount(layout, username, allocation_id)
      // There from the start, and empty: sshd reads no other.
      const path = keysFileOf(layout, username)
      if ((await driftOf(path, keysText([]))) !== null) await writeKeysFile(path, keysText([]))
      await requireSshd(layout, username)
      return {}
    }

    const installKeys: Hands['installKeys'] = async (params, generation): Promise<Done> => {
      const { allocation_id, username, keys, set_hash } = params
      const account = await findOurs(username, allocation_id)
      if (!account) throw new HandsFailed('no_such_account')
      await writeKeysFile(keysFileOf(layout, username), keysText(keys))
      const sessions_ended = await endOthers({ allocation_id, generation, account, keys }, new Date())
      // Only now: what is to go, goes, whatever sshd has become. But it is not said to be in force where sshd would read something else.
      await requireSshd(layout, username)
      return { set_hash, fingerprints: keys.map(({ fingerprint }) => fingerprint), grant_ids: grantsOf(keys), sessions_ended }
    }

    const deprovisionUser: Hands['deprovisionUser'] = async ({ allocation_id, username }, generation): Promise<Done> => {
      const path = keysFileOf(layout, username)
      const account = await findOurs(username, allocation_id)
      let sessions_ended: EndedSession[] = []
      if (account) {
        // Access first: nobody gets in while the rest is taken apart.
        await writeKeysFile(path, keysText([]))
        sessions_ended = await endOthers({ allocation_id, generation, account, keys: [] }, new Date(), true)
        await removeAccount(layout, account)
      }
      await tellOfSessions({ layout, tell, of: { allocation_id, generation } }, undefined, await sessionsOf(username))
      await removeDurably(path)
      askedAt.delete(username)
      return { fingerprints: [], grant_ids: [], sessions_ended }
    }

    /** Where sshd would read something else for an account than our file, it is told again how it is. */
    const keepSshd = async (username: string, now: Date): Promise<boolean> => {
      if (now.getTime() - (askedAt.get(username) ?? 0) < sshd_asked_ms) return false
      askedAt.set(username, now.getTime())
      try {
        await requireSshd(layout, username)
        return false
      } catch {
        await prepareSshd(layout)
        await requireSshd(layout, username)
        return true
      }
    }

    const drift: Hands['drift'] = async (wanted, now) => {
      const { allocation_id, username, generation } = wanted
      const of = { allocation_id, generation }
      if (wanted.type === 'allocation.deprovision_user') return false
      const account = await findAccount(username)
      await tellOfSessions({ layout, tell, of }, account?.uid, await sessionsOf(username))
      const keys = keysOf(wanted)
      const [path, text] = [keysFileOf(layout, username), keysText(keys)]
      const found = await driftOf(path, text)
      if (found !== null) {
        await writeKeysFile(path, text)
        await tell({ ...of, kind: 'drift_restored', at: now.toISOString(), found })
      }
      if (account?.allocation_id !== allocation_id) throw new HandsFailed(account ? 'username_taken' : 'no_such_account')
      await endOthers({ ...of, account, keys }, now)
      const is_told_again = await keepSshd(username, now)
      if (is_told_again) await tell({ ...of, kind: 'drift_restored', at: now.toISOString(), found: 'sshd_reads_more' })
      return found !== null || is_told_again
    }

    const probe: Hands['probe'] = async () => {
      const ssh = await requireReady(layout).then(
        () => 'ready',
        (error: Error) => error.message.slice(0, 200),
      )
      return { facts: { ssh, session_groups: (await settleGroups(layout)) === null ? 'none' : 'yes' } }
    }

    return { provisionUser, installKeys, deprovisionUser, drift, probe, close: async () => {} }
  }
