import type { DesiredKey, TaskParams } from '@gatehouse/contract/node-tasks'
import { removeDurably } from '../atomic-file.ts'
import { type Done, type Hands, HandsFailed, type MakeHands, type Tell, type Wanted } from '../hands.ts'
import { endProcessesOf, ensureAccount, ensureGroup, findAccount, removeAccount } from './account.ts'
import { driftOf, keysText, writeKeysFile } from './keys-file.ts'
import { keysFileOf, type Layout } from './layout.ts'
import { type EndedSession, endSessions, readSessions, type Session } from './sessions.ts'
import { ensureFolders, requireSshd } from './sshd.ts'
import { tellOfSessions } from './tell-of-sessions.ts'

type Install = TaskParams<'allocation.install_authorized_keys'>

/** Past its end a key is in the file for sshd to refuse; what it opened ends as well. */
const isOver = ({ expires_at }: DesiredKey, now: Date): boolean => expires_at !== null && Date.parse(expires_at) <= now.getTime()

const keysOf = ({ type, params }: Wanted): readonly DesiredKey[] =>
  type === 'allocation.install_authorized_keys' ? (params as unknown as Install).keys : []

const grantsOf = (keys: readonly DesiredKey[]): string[] =>
  keys.flatMap(({ holders }) => holders.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id])))

/** The hands on a real system: its accounts, its sshd, its processes. */
export const realHands =
  (layout: Layout): MakeHands =>
  async (tell: Tell): Promise<Hands> => {
    await ensureFolders(layout)
    await ensureGroup(layout)

    const sessionsOf = async (username: string): Promise<Session[]> =>
      (await readSessions(layout)).filter((session) => session.username === username)

    /** Written first, then looked for: whoever comes in between is met by the hook. */
    const endOthers = async (wanted: Omit<Wanted, 'type' | 'params'>, keys: readonly DesiredKey[], now: Date): Promise<EndedSession[]> => {
      const account = await findAccount(wanted.username)
      if (!account) return []
      const good = new Set(keys.filter((key) => !isOver(key, now)).map(({ fingerprint }) => fingerprint))
      const known = new Set(keys.map(({ fingerprint }) => fingerprint))
      const ending = (await sessionsOf(wanted.username)).filter(({ fingerprint }) => !good.has(fingerprint))
      await tellOfSessions(layout, tell, wanted, ending)
      const ended = await endSessions(layout, account.uid, ending)
      for (const { session_id, fingerprint, processes_ended, may_have_left_processes } of ended) {
        const end = known.has(fingerprint) ? 'key_expired' : 'key_removed'
        const { allocation_id, generation } = wanted
        const at = new Date().toISOString()
        await tell({
          kind: 'session_ended',
          at,
          allocation_id,
          generation,
          session_id,
          fingerprint,
          end,
          processes_ended,
          may_have_left_processes,
        } as never)
      }
      return ended
    }

    const provisionUser: Hands['provisionUser'] = async ({ allocation_id, username }) => {
      await requireSshd(layout, username)
      await ensureAccount(layout, username, allocation_id as string)
      // There from the start, and empty: sshd reads no other.
      const path = keysFileOf(layout, username)
      if ((await driftOf(path, keysText([]))) === 'missing') await writeKeysFile(path, keysText([]))
      return {}
    }

    const installKeys: Hands['installKeys'] = async (params, generation): Promise<Done> => {
      const { allocation_id, username, keys, set_hash } = params
      const account = await findAccount(username)
      if (!account) throw new HandsFailed('no_such_account')
      if (account.allocation_id !== allocation_id) throw new HandsFailed('username_taken')
      await requireSshd(layout, username)
      await writeKeysFile(keysFileOf(layout, username), keysText(keys))
      const sessions_ended = await endOthers({ allocation_id, username, generation }, keys, new Date())
      return {
        set_hash,
        fingerprints: keys.map(({ fingerprint }) => fingerprint),
        grant_ids: grantsOf(keys) as never,
        sessions_ended,
      }
    }

    const deprovisionUser: Hands['deprovisionUser'] = async ({ allocation_id, username }, generation): Promise<Done> => {
      const path = keysFileOf(layout, username)
      const account = await findAccount(username)
      if (account && account.allocation_id !== allocation_id) throw new HandsFailed('username_taken')
      // Access first: nobody gets in while the rest is taken apart.
      if (account) await writeKeysFile(path, keysText([]))
      const sessions_ended = await endOthers({ allocation_id, username, generation }, [], new Date())
      if (account) await endProcessesOf(account.uid)
      await removeAccount(layout, username, allocation_id as string)
      await removeDurably(path)
      return { fingerprints: [], grant_ids: [], sessions_ended }
    }

    const drift: Hands['drift'] = async (wanted, now) => {
      const { allocation_id, username, generation } = wanted
      await tellOfSessions(layout, tell, wanted, await sessionsOf(username))
      if (wanted.type === 'allocation.deprovision_user') return false
      const keys = keysOf(wanted)
      const [path, text] = [keysFileOf(layout, username), keysText(keys)]
      const found = await driftOf(path, text)
      if (found !== null) {
        await writeKeysFile(path, text)
        await tell({ kind: 'drift_restored', at: now.toISOString(), allocation_id, generation, found } as never)
      }
      await endOthers(wanted, keys, now)
      return found !== null
    }

    return {
      provisionUser,
      installKeys,
      deprovisionUser,
      drift,
      probe: async () => ({
        facts: {
          ssh: (
            await requireSshd(layout, 'gh-probe0').then(
              () => 'ready',
              (error: Error) => error.message,
            )
          ).slice(0, 200),
        },
      }),
      close: async () => {},
    }
  }
