import { waitForTasks } from '@gatehouse/contract/nodes'
import { askByCertificate, CertificateRefused } from './ask-certificate.ts'
import { type Answer, type Door, isIdentityRefused, type Showing } from './door.ts'
import { type Identity, type IdentityFile, openIdentity } from './identity.ts'
import type { Log } from './log.ts'
import { pathOf } from './path-of.ts'
import type { State } from './state.ts'

export interface Worn {
  readonly identity: Identity
  readonly door: Door
}

/** The identity that the node shows: the one it has, and the one before it as long as something signed with that one is on its way. */
export interface Wearing {
  readonly current: () => Worn
  /** Whoever signed with that key; undefined where it is no longer shown. */
  readonly signedBy: (key_thumbprint: string) => Worn | undefined
  /** Asks for another certificate, for a new key, and uses it once before it is relied on; what that use brought is returned. */
  readonly renew: (run: string) => Promise<Answer | undefined>
  /** One that was issued before a crash and not used yet. */
  readonly takeUpNext: (run: string) => Promise<Answer | undefined>
  readonly close: () => void
}

export const openWearing = async (
  state: State,
  { open, log, now }: { open: (showing: Showing) => Door; log: Log; now: () => Date },
): Promise<Wearing> => {
  const wear = (file: IdentityFile): Worn => ({ identity: openIdentity(file), door: open(file) })
  const found = await state.identity('current')
  if (!found) throw new Error('this node is not enrolled')
  let current = wear(found)
  const former = await state.identity('previous')
  let previous = former && Date.parse(former.expires_at) > now().getTime() ? wear(former) : undefined

  /** A certificate counts as ours once the door has let it in; until then the old one is all we have. */
  const tryOn = async (file: IdentityFile, run: string): Promise<Answer | undefined> => {
    const next = wear(file)
    const path = pathOf(waitForTasks, { node_id: file.node_id }, { run, wait_seconds: 0 })
    const answer = await next.door.ask({ method: 'GET', path }).catch((error: unknown) => {
      next.door.close()
      throw error
    })
    if (answer.status !== 200) {
      next.door.close()
      if (!isIdentityRefused(answer)) throw new CertificateRefused(answer)
      await state.dropIdentity('next')
      await state.dropAsked()
      log('warning', 'certificate_not_accepted', { status: answer.status })
      return undefined
    }
    await state.switchIdentity()
    await state.dropAsked()
    previous?.door.close()
    previous = current
    current = next
    log('info', 'certificate_renewed', { expires_at: file.expires_at })
    return answer
  }

  return {
    current: () => current,
    signedBy: (thumbprint) => [current, previous].find((worn) => worn?.identity.key_thumbprint === thumbprint),
    renew: async (run) => {
      const file = await askByCertificate(state, current.door, current.identity)
      await state.keepIdentity('next', file)
      return tryOn(file, run)
    },
    takeUpNext: async (run) => {
      const file = await state.identity('next')
      return file && tryOn(file, run)
    },
    close: () => {
      current.door.close()
      previous?.door.close()
    },
  }
}
