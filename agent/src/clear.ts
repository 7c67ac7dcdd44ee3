import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hands, Managed } from './hands.ts'
import { openState } from './state.ts'

/** Only what is ours: the folder may have been named by a slip of the pen. The identity last, so that one who was stopped may ask again. */
const ours = ['events', 'reports', 'allocations', 'asked.json', 'identity-next.json', 'identity.json']

/** For a machine that is a node no more: every managed account goes, and then all that we knew. Returns which accounts went. */
export const clear = async (state_dir: string, hands: Pick<Hands, 'putAway'>): Promise<readonly Managed[]> => {
  const { folder } = await openState(state_dir)
  const away = await hands.putAway(null, () => false)
  for (const name of ours) await rm(join(folder, name), { recursive: true, force: true })
  return away
}
