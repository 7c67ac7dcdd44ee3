export interface Issued {
  readonly access_token: string
  readonly expires_in_seconds: number
}

export interface KeepingToken {
  readonly ask: () => Promise<Issued>
  /** The credential itself is not accepted: what was issued for it will hardly be, either. */
  readonly isRefused: (error: unknown) => boolean
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number
  readonly chance?: () => number
}

interface Kept {
  readonly token: string
  renew_at: number
  readonly ends_at: number
}

/**
 * A token for as long as it is good. It is renewed after about two thirds of its life, a little earlier or later, so that many controllers do not all
 * come at once; until it ends, a renewal may fail. How long it lives is what the answer said: nobody looks into it.
 */
export const keptToken = ({ ask, isRefused, now = () => performance.now(), chance = Math.random }: KeepingToken) => {
  let kept: Kept | undefined
  let asking: Promise<Kept> | undefined

  const renewed = async (): Promise<Kept> => {
    const asked_at = now()
    const { access_token: token, expires_in_seconds } = await ask()
    const life = expires_in_seconds * 1000
    kept = { token, renew_at: asked_at + life * (0.6 + chance() * 0.1), ends_at: asked_at + life }
    return kept
  }
  const renew = (): Promise<Kept> => {
    asking ??= renewed().finally(() => {
      asking = undefined
    })
    return asking
  }

  return async (refused?: string): Promise<string> => {
    if (kept && kept.token === refused) kept = undefined
    const former = kept
    if (former && now() < former.renew_at) return former.token
    try {
      return (await renew()).token
    } catch (error) {
      if (!former || now() >= former.ends_at || isRefused(error)) throw error
      former.renew_at = now() + (former.ends_at - now()) / 3
      return former.token
    }
  }
}
