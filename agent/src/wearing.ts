import { waitForTasks } from '@gatehouse/contract/nodes'
import { askByCertificate, CertificateRefused } from './ask-certificate.ts'
import { type Answer, type Door, isIdentityRefused, type Showing } from './door.ts'
import { type Identity, type IdentityFile, openIdentity } from './identity.ts'
import type { Log } from './log.ts'
import { pathOf } from './path-of.ts'
import type { State } from './state.ts'

interface Worn {
  readonly identity: Identity
  readonly door: Door
}

/** The identity that the node shows. */
export interface Wearing {
  readonly current: () => Worn
  /** Asks for another certificate, for a new key, and uses it once before it is relied on; returns what that use brought. */
  readonly renew: (run: string) => Promise<Answer | undefined>
  /** Uses one that was issued before a crash and not used yet. */
  readonly takeUpNext: (run: string) => Promise<Answer | undefined>
  readonly close: () => void
}

interface Parts {
  readonly open: (showing: Showing) => Door
  readonly log: Log
}

export const openWearing = async (state: State, { open, log }: Parts): Promise<Wearing> => {
  const wear = (file: IdentityFile): Worn => ({ identity: openIdentity(file), door: open(file) })
  const found = await state.identity('current')
  if (!found) throw new Error('this node is not enrolled')
  let current = wear(found)

  const askWith = async ({ identity, door }: Worn, run: string): Promise<Answer> => {
    try {
      return await door.ask({ method: 'GET', path: pathOf(waitForTasks, { node_id: identity.node_id }, { run, wait_seconds: 0 }) })
    } catch (error) {
      door.close()
      throw error
    }
  }

  /** A certificate counts once the door has let it in; until then the old one is all we have. */
  const tryOn = async (file: IdentityFile, run: string): Promise<Answer | undefined> => {
    const next = wear(file)
    const answer = await askWith(next, run)
    if (answer.status === 200) {
      await state.switchIdentity()
      await state.dropAsked()
      current.door.close()
      current = next
      log('info', 'certificate_renewed', { expires_at: file.expires_at })
      return answer
    }
    next.door.close()
    if (!isIdentityRefused(answer)) throw new CertificateRefused(answer)
    await state.dropNextIdentity()
    await state.dropAsked()
    log('warning', 'certificate_not_accepted', { status: answer.status })
    return undefined
  }

  return {
    current: () => current,
    renew: async (run) => {
      const file = await askByCertificate(state, current.door, current.identity)
      await state.keepIdentity('next', file)
      return tryOn(file, run)
    },
    takeUpNext: async (run) => {
      const file = await state.identity('next')
      return file && tryOn(file, run)
    },
    close: () => current.door.close(),
  }
}
