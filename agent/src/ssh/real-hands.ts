import { setTimeout as pause } from 'node:timers/promises'
import type { DesiredKey, TaskParams } from '@gatehouse/contract/node-tasks'
import { keepWritten, namesIn, readIfThere, removeDurably } from '../atomic-file.ts'
import {
  type Done,
  type Hands,
  HandsFailed,
  type KeepEnded,
  type MakeHands,
  type Managed,
  NotRestored,
  type Tell,
  type Wanted,
} from '../hands.ts'
import { openPlaces } from '../places.ts'
import { type Account, ensureAccount, ensureGroup, findAccount, findOurs, managedAccounts } from './account.ts'
import { accountGroupOf, isMemoryBounded, removeUnusedGroups, settleGroups } from './cgroup.ts'
import { describeMachine } from './describe.ts'
import { endSessions, endUnwritten } from './end-sessions.ts'
import { type Drift, driftOf, keysText, overIn, requireNotLater, writeKeysFile } from './keys-file.ts'
import { isUsername, keysFileOf, type Layout, nodeFileOf, nodeOfMachine } from './layout.ts'
import { plansOf, preventPlans } from './plans.ts'
import { removeAccount, removeHomes } from './remove-account.ts'
import { type EndedSession, mayBeOpen } from './sessions.ts'
import { ensureFolders, prepareSshd, requireReady, requireSshd } from './sshd.ts'
import { newRemembered, tellOfEnded, tellOfSessions } from './tell-of-sessions.ts'
import { applyTerms, termsIn } from './terms.ts'
import { openWatch } from './watch.ts'

type Install = TaskParams<'allocation.install_authorized_keys'>

/** How often sshd is asked what it would do: it is a process each time. */
const sshd_asked_ms = 30_000

/** Past its end a key is in the file for sshd to refuse; what it opened ends as well. */
const isOver = ({ expires_at }: DesiredKey, now: Date): boolean => expires_at !== null && Date.parse(expires_at) <= now.getTime()

const keysOf = ({ type, params }: Wanted): readonly DesiredKey[] =>
  type === 'allocation.install_authorized_keys' ? (params as unknown as Install).keys : []

const grantsOf = (keys: readonly DesiredKey[]) =>
  keys.flatMap(({ holders }) => holders.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id])))

/** A number that nothing runs as: where somebody took the account away by hand, what came in by it is still there, and known. */
const nobody = -1

/** What went wrong, for later: what is to end must not wait for what cannot be done. */
const faultOf = (act: Promise<unknown>): Promise<unknown> =>
  act.then(
    () => undefined,
    (error: unknown) => error,
  )

/** The hands on a real system: its accounts, its sshd, its processes. */
export const realHands =
  (layout: Layout): MakeHands =>
  async (tell: Tell): Promise<Hands> => {
    await ensureFolders(layout)
    await ensureGroup(layout)
    const groups = await settleGroups(layout)
    const watch = openWatch(layout)
    const remembered = newRemembered()
    const is_memory_bounded = await isMemoryBounded(groups)
    // What makes accounts and what removes them have places of their own, few of each. What takes access away has none to wait for.
    const [making, removing, clearing] = [openPlaces(2), openPlaces(4), openPlaces(2)]
    /** How many ask sshd at the moment, of those who look after their account. */
    let asking = 0
    const closing = new AbortController()
    // Takes away what a crash left half written.
    await namesIn(layout.keys_dir)
    const askedAt = new Map<string, number>()
    /** What sshd was found to do last, where it could not be put right. */
    const notRestored = new Map<string, NotRestored>()

    // Left by one of us that was stopped; where it fails, the release that is asked for again says so.
    void clearing(() => removeHomes(layout, undefined, closing.signal)).catch(() => {})

    type Ending = Pick<Wanted, 'allocation_id' | 'generation'> & {
      readonly account: Pick<Account, 'username' | 'uid'>
      readonly keys: readonly DesiredKey[]
      /** Of keys that were there before and whose time was over: they went because of that, whoever came first to take them away. */
      readonly over?: ReadonlySet<string>
    }

    /** Written first, then looked for: whoever comes in between is met by the hook. Ended first, then told. */
    const endOthers = async (
      { account, keys, over, ...of }: Ending,
      now: Date,
      {
        is_leaving = false,
        telling = tell,
        keepEnded = async () => {},
      }: { is_leaving?: boolean; telling?: Tell; keepEnded?: KeepEnded | undefined } = {},
    ): Promise<EndedSession[]> => {
      const good = new Set(keys.filter((key) => !isOver(key, now)).map(({ fingerprint }) => fingerprint))
      const known = new Set(keys.map(({ fingerprint }) => fingerprint))
      const ending = (await watch.sessionsOf(account.username)).filter(({ fingerprint }) => !good.has(fingerprint))
      const ended = await endSessions(layout, watch, account, ending)
      await keepEnded(ended)
      await endUnwritten(watch, account)
      await tellOfEnded({ layout, watch, remembered, tell: telling, of }, ending, ended, (fingerprint) => {
        if (is_leaving) return 'account_removed'
        return known.has(fingerprint) || over?.has(fingerprint) ? 'key_expired' : 'key_removed'
      })
      return ended
    }

    /** Where sshd would read something else for an account than our file, it is told again how it is, and so are we. */
    const keepSshd = async (of: Pick<Wanted, 'allocation_id' | 'generation'>, username: string): Promise<boolean> => {
      askedAt.set(username, Date.now())
      try {
        await requireSshd(layout, username)
        notRestored.delete(username)
        return false
      } catch (error) {
        const failure = error instanceof HandsFailed ? error.failure : 'unexpected'
        notRestored.set(username, new NotRestored(failure, error))
        await prepareSshd(layout).catch(() => {
          throw error
        })
        await requireSshd(layout, username)
        notRestored.delete(username)
      }
      await tell({ ...of, kind: 'drift_restored', at: new Date().toISOString(), found: 'sshd_reads_more' })
      return true
    }
    /** Said when all else was looked after. */
    const whereNotRestored = (username: string) => (error: unknown) => {
      if (!notRestored.has(username)) throw error
      return false
    }
    // Also where the clock was put back.
    const isToBeAsked = (username: string): boolean => Math.abs(Date.now() - (askedAt.get(username) ?? 0)) >= sshd_asked_ms

    /** What its sessions may use, and that it runs nothing without one. */
    const holdToTerms = async (account: Pick<Account, 'username' | 'uid'>, params: object): Promise<void> => {
      await preventPlans(layout, account)
      await applyTerms(layout, groups, account.username, termsIn(params))
    }

    const provision = async (params: TaskParams<'allocation.provision_user'>, generation: number): Promise<Done> => {
      const { allocation_id, username } = params
      await requireReady(layout)
      const account = await ensureAccount(layout, username, allocation_id)
      await holdToTerms(account, params)
      // There from the start, and empty: sshd reads no other.
      const path = keysFileOf(layout, username)
      const text = keysText([], generation)
      await requireNotLater(path, generation)
      if ((await driftOf(path, text, account.gid)) !== null) await writeKeysFile(path, text, account.gid)
      await requireSshd(layout, username)
      return {}
    }
    const provisionUser: Hands['provisionUser'] = (params, generation) => making(() => provision(params, generation))

    /** Whether something of it runs, or is to run without anybody coming in. */
    const mayRunOn = async (account: Pick<Account, 'username' | 'uid'>): Promise<boolean> => {
      if ((await watch.besideOf(account.uid)).length > 0 || (await plansOf(account)).length > 0) return true
      return (await Promise.all((await watch.sessionsOf(account.username)).map(mayBeOpen))).includes(true)
    }

    const installKeys: Hands['installKeys'] = async (params, generation, keepEnded): Promise<Done> => {
      const { allocation_id, username, keys, set_hash } = params
      const account = await findOurs(username, allocation_id)
      if (!account) {
        await endOthers({ allocation_id, generation, account: { username, uid: nobody }, keys }, new Date(), { keepEnded })
        throw new HandsFailed('no_such_account')
      }
      const [path, text] = [keysFileOf(layout, username), keysText(keys, generation)]
      await requireNotLater(path, generation)
      const over = overIn((await readIfThere(path).catch(() => undefined)) ?? '', new Date())
      const unwritten = await faultOf(writeKeysFile(path, text, account.gid))
      const sessions_ended = await endOthers({ allocation_id, generation, account, keys, over }, new Date(), { keepEnded }).catch(
        (error: unknown) => {
          throw unwritten ?? error
        },
      )
      if (unwritten !== undefined) throw unwritten
      await holdToTerms(account, params)
      // Only now: what is to go, goes, whatever sshd has become. But it is not said to be in force where sshd would read something else.
      await keepSshd({ allocation_id, generation }, username)
      const fingerprints = keys.map(({ fingerprint }) => fingerprint)
      // All share one home: what somebody left there, or had another's session start, looks like the others'.
      const may_have_left_processes = await mayRunOn(account)
      return { set_hash, fingerprints, grant_ids: grantsOf(keys), sessions_ended, may_have_left_processes }
    }

    const removeWhole = async (
      { allocation_id, username }: Managed,
      generation: number,
      telling = tell,
      keepEnded?: KeepEnded,
    ): Promise<Done> => {
      const path = keysFileOf(layout, username)
      const account = await findOurs(username, allocation_id)
      let sessions_ended: EndedSession[] = []
      // Access first: nobody gets in while the rest is taken apart. No file lets in as few as an empty one.
      const unwritten =
        account && (await faultOf(writeKeysFile(path, keysText([], generation), account.gid).catch(() => removeDurably(path))))
      const ending = { allocation_id, generation, account: account ?? { username, uid: nobody }, keys: [] }
      const untold = await faultOf(
        endOthers(ending, new Date(), { is_leaving: true, telling, keepEnded }).then((ended) => {
          sessions_ended = ended
        }),
      )
      if (unwritten !== undefined) throw unwritten
      const leftovers = account ? await removing(() => removeAccount(layout, groups, account)) : []
      await clearing(() => removeHomes(layout, username, closing.signal))
      if (untold !== undefined) throw untold
      const of = { allocation_id, generation }
      await tellOfSessions({ layout, watch, remembered, tell: telling, of }, undefined, await watch.sessionsOf(username))
      await removeDurably(path)
      askedAt.delete(username)
      notRestored.delete(username)
      return { fingerprints: [], grant_ids: [], sessions_ended, ...(leftovers.length === 0 ? {} : { leftovers: leftovers.slice(0, 100) }) }
    }
    const deprovisionUser: Hands['deprovisionUser'] = (params, generation, keepEnded) => removeWhole(params, generation, tell, keepEnded)

    const node_file = nodeFileOf(layout)
    const putAway: Hands['putAway'] = async (node_id, isKept) => {
      // What another node had is nothing that this one could tell of.
      const is_told = node_id !== null && (await nodeOfMachine(layout)) === node_id
      const others = (await managedAccounts(layout)).filter((account): account is Account & Managed => !isKept(account as Managed))
      const away: Managed[] = []
      let fault: unknown
      for (const { allocation_id, username } of others)
        try {
          await removeWhole({ allocation_id, username }, 0, is_told ? tell : async () => {})
          away.push({ allocation_id, username })
          if (is_told)
            await tell({ allocation_id, generation: 0, kind: 'drift_restored', at: new Date().toISOString(), found: 'account_left' })
        } catch (error) {
          // The others go all the same.
          fault ??= error
        }
      for (const name of (await namesIn(layout.keys_dir)).filter(isUsername)) {
        const account = await findAccount(name)
        // One that could not be taken away has an empty file, which is better than none.
        if (account === undefined || account.allocation_id === null) await removeDurably(keysFileOf(layout, name))
      }
      if (fault !== undefined) throw fault
      if (node_id === null) await removeDurably(node_file)
      else await keepWritten(node_file, `${node_id}\n`)
      return away
    }

    const drift: Hands['drift'] = async (wanted, now, keepEnded, isPressed = () => false) => {
      const { allocation_id, username, generation } = wanted
      const of = { allocation_id, generation }
      const account = await findAccount(username)
      const is_leaving = wanted.type === 'allocation.deprovision_user'
      // One that was begun to be taken away stays without keys and sessions until it is.
      if (is_leaving && account?.allocation_id !== allocation_id) return false
      const keys = keysOf(wanted)
      const [path, text] = [keysFileOf(layout, username), keysText(keys, generation)]
      await requireNotLater(path, generation)
      const gid = account?.allocation_id === allocation_id ? account.gid : 0
      const found = await driftOf(path, text, gid)
      const is_drift = found !== null && found !== 'former' && wanted.is_written !== false
      const unwritten = found === null ? undefined : await faultOf(writeKeysFile(path, text, gid))
      // Ended before anything is told: to tell takes room, and time.
      const theirs = account ?? { username, uid: nobody, allocation_id }
      if (theirs.allocation_id === allocation_id) await endOthers({ ...of, account: theirs, keys }, now, { is_leaving, keepEnded })
      if (unwritten !== undefined) throw unwritten
      await tellOfSessions({ layout, watch, remembered, tell, of, isPressed }, account?.uid, await watch.sessionsOf(username))
      if (is_drift) await tell({ ...of, kind: 'drift_restored', at: now.toISOString(), found: found as Exclude<Drift, 'former' | null> })
      if (account?.allocation_id !== allocation_id) throw new HandsFailed(account ? 'username_taken' : 'no_such_account')
      if (!is_leaving) await holdToTerms(account, wanted.params)
      const is_told_again = isToBeAsked(username) && (await lookAround(of, username, isPressed))
      const left = notRestored.get(username)
      if (left) throw left
      return is_drift || is_told_again
    }

    /** What is seen to every half minute. Not where a task waits for us: it would wait for all that are before us. */
    const lookAround = async (of: Pick<Wanted, 'allocation_id' | 'generation'>, username: string, isPressed: () => boolean) => {
      if (isPressed()) return false
      if (groups !== null) {
        const known = new Set((await watch.sessionsOf(username)).map(({ session_id }) => session_id))
        await removeUnusedGroups(accountGroupOf(groups, username), (session_id) => known.has(session_id))
      }
      while (asking >= 2) {
        await pause(20)
        if (isPressed()) return false
      }
      asking += 1
      return keepSshd(of, username)
        .catch(whereNotRestored(username))
        .finally(() => {
          asking -= 1
        })
    }

    const probe: Hands['probe'] = async () => {
      const ssh = await requireReady(layout).then(
        () => 'ready',
        (error: Error) => error.message.slice(0, 200),
      )
      return { facts: { ssh, session_groups: groups === null ? 'none' : groups.is_systemd ? 'systemd' : 'yes' } }
    }

    /** Processes are bounded by the account's number wherever there is a kernel. */
    const unenforced = () => [
      ...(groups === null ? ['sessions'] : []),
      ...(is_memory_bounded ? [] : ['memory']),
      ...(groups?.is_systemd ? [] : ['devices']),
    ]

    const close = async () => closing.abort()
    const describe = () => describeMachine(layout)
    return { provisionUser, installKeys, deprovisionUser, drift, probe, putAway, describe, unenforced, close }
  }
