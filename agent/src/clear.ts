import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hands, Managed } from './hands.ts'
import { openState } from './state.ts'

/** Only what is ours: the folder may have been named by a slip of the pen. The identity last, so that one who was stopped may ask again. */
const ours = ['events', 'reports', 'allocations', 'asked.json', 'identity-next.json', 'identity.json']

interface Clearing {
  readonly hands: () => Promise<Pick<Hands, 'putAway'>>
  /** Whose accounts are on this machine, as is written beside their keys. */
  readonly machines_node: string | undefined
  /** Which node is to be cleared, by whoever asks for it: where the state is lost it cannot say so. */
  readonly named_node: string | undefined
}

/** For a machine that is a node no more: every managed account goes, and then all that we knew. Returns which accounts went. */
export const clear = async (state_dir: string, { hands, machines_node, named_node }: Clearing): Promise<readonly Managed[]> => {
  const { folder, identity } = await openState(state_dir)
  const node_id = (await identity('current'))?.node_id
  if (named_node !== undefined && node_id !== undefined && named_node !== node_id)
    throw new Error(`${folder} is the state of node ${node_id}, not of ${named_node}; nothing was changed`)
  // A folder that was mistaken for another must not take away the people of the node that this machine is.
  if (machines_node !== undefined && machines_node !== (node_id ?? named_node))
    throw new Error(
      `the accounts of this machine are node ${machines_node}’s, and ${folder} is ${node_id === undefined ? 'no node’s state' : `node ${node_id}’s`}; nothing was changed. Where its state is lost: gatehouse-agent clear --node ${machines_node}`,
    )
  const away = await (await hands()).putAway(null, () => false)
  for (const name of ours) await rm(join(folder, name), { recursive: true, force: true })
  return away
}
