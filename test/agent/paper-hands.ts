import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskParams } from '@gatehouse/contract/node-tasks'
import { namesIn, readIfThere, removeDurably, writeAtomically } from '../../agent/src/atomic-file.ts'
import { type Hands, HandsFailed, type MakeHands } from '../../agent/src/hands.ts'

/** An account as it stands on paper. */
export interface PaperAccount {
  readonly allocation_id: string
  readonly keys: readonly string[]
}

type Install = TaskParams<'allocation.install_authorized_keys'>

const fileOf = (folder: string, username: string) => join(folder, `${username}.json`)
export const readAccount = async (folder: string, username: string): Promise<PaperAccount | undefined> => {
  const text = await readIfThere(fileOf(folder, username))
  return text === undefined ? undefined : (JSON.parse(text) as PaperAccount)
}

/** Hands that write down accounts and keys instead of making them. The paper outlives whoever wrote on it, as a system does. */
export const paperHands = (folder: string, changed: (hands: Hands) => Hands = (hands) => hands): MakeHands => {
  mkdirSync(folder, { recursive: true })
  return async (tell) => {
    const write = (username: string, account: PaperAccount) => writeAtomically(fileOf(folder, username), JSON.stringify(account))
    return changed({
      provisionUser: async ({ allocation_id, username }) => {
        const found = await readAccount(folder, username)
        await write(username, { allocation_id, keys: found?.keys ?? [] })
        return {}
      },
      installKeys: async ({ allocation_id, username, keys, set_hash }) => {
        if (!(await readAccount(folder, username))) throw new HandsFailed('no_such_account')
        const fingerprints = keys.map(({ fingerprint }) => fingerprint)
        await write(username, { allocation_id, keys: fingerprints })
        return { set_hash, fingerprints, sessions_ended: [] }
      },
      deprovisionUser: async ({ username }) => {
        await removeDurably(fileOf(folder, username))
        return { fingerprints: [], sessions_ended: [] }
      },
      probe: async () => ({ facts: { hands: 'paper' } }),
      drift: async ({ allocation_id, username, type, generation, params, is_written = true }, now) => {
        if (type === 'allocation.deprovision_user') return false
        const keys = type === 'allocation.install_authorized_keys' ? (params as Install).keys.map(({ fingerprint }) => fingerprint) : []
        const found = await readAccount(folder, username)
        if (JSON.stringify(found?.keys) === JSON.stringify(keys)) return false
        await write(username, { allocation_id, keys })
        if (!is_written) return false
        await tell({ kind: 'drift_restored', at: now.toISOString(), allocation_id, generation, found: found ? 'changed' : 'missing' })
        return true
      },
      putAway: async (_node_id, isKept) => {
        const names = (await namesIn(folder)).map((name) => name.replace(/\.json$/, ''))
        const found = await Promise.all(
          names.map(async (username) => ({ username, allocation_id: (await readAccount(folder, username))!.allocation_id })),
        )
        const others = found.filter((account) => !isKept(account))
        for (const { username } of others) await removeDurably(fileOf(folder, username))
        return others
      },
      describe: async () => ({ devices: [], shared_devices: [], ssh_host: 'paper', ssh_port: 22, ssh_host_keys: [] }),
      unenforced: () => [],
      close: async () => {},
    })
  }
}
