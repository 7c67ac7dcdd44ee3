import { join } from 'node:path'
import type { NodeEvent } from '@gatehouse/contract/node-events'
import type { TaskResult } from '@gatehouse/contract/node-tasks'
import { moveDurably, namesIn, ownFolder, readIfThere, removeDurably, writeAtomically } from './atomic-file.ts'
import type { Ended, Wanted } from './hands.ts'
import type { IdentityFile } from './identity.ts'

/** What was performed for one allocation. It stays when the account is gone, so that nothing older brings it back. */
export interface AllocationState {
  readonly allocation_id: string
  readonly username: string
  /** The latest generation that was set about: nothing older is performed any more, however far this one went. */
  readonly begun: number
  /** What that one says, until it was performed in whole. `is_written`: it was seen to be in force, though not all of it went well. */
  readonly begun_task?: (Pick<Wanted, 'type' | 'params'> & { readonly is_written: boolean }) | null
  /** The latest that was performed in whole. */
  readonly applied: (Pick<Wanted, 'type' | 'generation' | 'params'> & { readonly task_id: string; readonly at: string }) | null
  /** Sessions that were ended for what was begun, until a report that it is done has said so. */
  readonly ended?: Ended
  /** Somebody changed what we had made, and no receipt has said so yet. */
  readonly drift_found_at: string | null
  /** Of a time before the machine enrolled anew, and not asked for since: it may be yet, or will not be and lets nobody in any more. */
  readonly in_doubt?: 'open' | 'closed'
  /** What cannot be put right, in a word; the control plane was told of it. */
  readonly trouble?: string | null
}

/** What is to be said of a task, word by word, until the control plane has heard it and for a while after. */
export interface Report {
  readonly task_id: string
  readonly idempotency_key: string
  /** Of the key that signed it. */
  readonly key_thumbprint: string
  readonly result: TaskResult
  readonly made_at: string
  /** When it was heard, or refused for good. */
  readonly settled_at: string | null
}

/** Asked for and perhaps issued, though the answer has not come: asked again with the same words it is the same certificate. */
export interface Asked {
  readonly key: string
  readonly csr: string
  readonly idempotency_key: string
  /** What it was asked with: a thumbprint, or the digest of a token. */
  readonly asked_with: string
}

export interface State {
  readonly folder: string
  readonly identity: (which: 'current' | 'next') => Promise<IdentityFile | undefined>
  readonly keepIdentity: (which: 'current' | 'next', file: IdentityFile) => Promise<void>
  readonly dropNextIdentity: () => Promise<void>
  /** The next one was used: it is the current one from now on. */
  readonly switchIdentity: () => Promise<void>
  readonly asked: () => Promise<Asked | undefined>
  readonly keepAsked: (asked: Asked) => Promise<void>
  readonly dropAsked: () => Promise<void>
  readonly allocations: () => Promise<AllocationState[]>
  readonly keepAllocation: (allocation: AllocationState) => Promise<void>
  readonly dropAllocation: (allocation_id: string) => Promise<void>
  readonly reports: () => Promise<Report[]>
  readonly keepReport: (report: Report) => Promise<void>
  readonly dropReport: (task_id: string) => Promise<void>
  /** What happened and was not told yet. */
  readonly events: () => Promise<NodeEvent[]>
  readonly keepEvent: (event: NodeEvent) => Promise<void>
  readonly dropEvent: (event_id: string) => Promise<void>
}

// Part of a file's name: what is no id never gets that far.
const idOf = (id: string): string => {
  if (!/^[0-9a-fA-F-]{36}$/.test(id)) throw new Error('not an id')
  return id.toLowerCase()
}

/** Written by us alone and always whole: one that cannot be read means a broken disk, and guessing at it would be worse than stopping. */
const parsed = <T>(path: string, text: string | undefined): T | undefined => {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as T
  } catch {
    throw new Error(`${path} is broken`)
  }
}

/** All that is kept between two runs. Each thing is a small file of its own, whole or not there. */
export const openState = async (folder: string): Promise<State> => {
  const rooms = { allocations: join(folder, 'allocations'), reports: join(folder, 'reports'), events: join(folder, 'events') }
  for (const path of [folder, ...Object.values(rooms)]) await ownFolder(path)
  await namesIn(folder)
  const at = (name: string) => join(folder, `${name}.json`)
  const read = async <T>(path: string) => parsed<T>(path, await readIfThere(path))
  const write = (path: string, value: unknown) => writeAtomically(path, `${JSON.stringify(value, null, 1)}\n`)
  const all = async <T>(room: string): Promise<T[]> => {
    const names = (await namesIn(room)).filter((name) => name.endsWith('.json'))
    const found = await Promise.all(names.map((name) => read<T>(join(room, name))))
    return found.filter((each) => each !== undefined) as T[]
  }
  const of = (room: keyof typeof rooms, id: string) => join(rooms[room], `${idOf(id)}.json`)
  const identity = { current: at('identity'), next: at('identity-next') }

  return {
    folder,
    identity: (which) => read<IdentityFile>(identity[which]),
    keepIdentity: (which, file) => write(identity[which], file),
    dropNextIdentity: () => removeDurably(identity.next),
    switchIdentity: () => moveDurably(identity.next, identity.current),
    asked: () => read<Asked>(at('asked')),
    keepAsked: (asked) => write(at('asked'), asked),
    dropAsked: () => removeDurably(at('asked')),
    allocations: () => all<AllocationState>(rooms.allocations),
    keepAllocation: (allocation) => write(of('allocations', allocation.allocation_id), allocation),
    dropAllocation: (id) => removeDurably(of('allocations', id)),
    reports: () => all<Report>(rooms.reports),
    keepReport: (report) => write(of('reports', report.task_id), report),
    dropReport: (id) => removeDurably(of('reports', id)),
    events: () => all<NodeEvent>(rooms.events),
    keepEvent: (event) => write(of('events', event.event_id), event),
    dropEvent: (id) => removeDurably(of('events', id)),
  }
}
