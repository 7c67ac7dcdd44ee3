import { type Form, formNames, forms } from './asking.ts'
import type { Revoke, Scene } from './revokes.ts'

/** Asked when, of which process, and answered how. */
interface Asked {
  readonly base: string
  readonly began: number
  readonly allowed: boolean
}

export interface Round {
  readonly kind: string
  readonly form: Form
  /** Questions that began before the revoke was answered, and those that began after it. */
  readonly before: number
  readonly after: number
  /** Began after it, and were allowed. */
  readonly allows: number
}

/**
 * Takes a right away by one process while all of them are being asked about it. What began before the answer may say either; what
 * began after it, and be it at the same moment, must not say allow.
 */
const playRound = async (
  scene: Scene,
  { kind, question, revoke, restore, tolerated = 0, machine }: Revoke,
  form: Form,
  by: string,
  all: readonly string[],
) => {
  const asked: Asked[] = []
  // Each round has a token of its own: what was ended once does not come back.
  const about = machine ? await machine.begin() : scene.person
  // What ends a token leaves to others what they may do to its account.
  const asks = forms[machine?.is_of_token && form === 'by_another' ? 'alone' : form]
  const ask = async (base: string) => {
    const began = performance.now()
    const allowed = await asks(base, { about, other: scene.other, question })
    asked.push({ base, began, allowed })
    return allowed
  }
  // A refusal for want of time is no deny, so a busy machine gets a few tries to say that there is something to revoke.
  const warm = async (base: string) => {
    for (let tries = 0; tries < 10; tries += 1) if (await ask(base)) return
    throw new Error(`${kind}, ${form}: nothing to revoke`)
  }
  await Promise.all(all.map(warm))
  let isOver = false
  // Two lanes each, so that one may begin while the other waits.
  const asking = Promise.all(
    [...all, ...all].map(async (base) => {
      while (!isOver) await ask(base)
    }),
  )
  asking.catch(() => {})
  let done: number
  try {
    await revoke(by)
    done = performance.now()
    await Promise.all(all.map(ask))
  } finally {
    isOver = true
  }
  await asking
  await restore(by)
  const late = asked.filter(({ began }) => began >= done)
  const allows = all.map((base) => late.filter((each) => each.base === base && each.allowed).length)
  return {
    kind,
    form,
    before: asked.length - late.length,
    after: late.length,
    allows: allows.reduce((sum, each) => sum + Math.max(0, each - tolerated), 0),
  } satisfies Round
}

/** So many rounds over all kinds of revokes, in all forms of asking, each process in its turn; or until told to stop. */
export const playRounds = async (
  scene: Scene,
  all: readonly string[],
  rounds: number,
  isEnough: (round: Round, played: number) => boolean = () => false,
): Promise<Round[]> => {
  const played: Round[] = []
  const { revokes } = scene
  while (played.length < rounds) {
    const n = played.length
    const turn = Math.floor(n / revokes.length)
    const round = await playRound(
      scene,
      revokes[n % revokes.length]!,
      formNames[(n + turn) % formNames.length]!,
      all[(n + turn) % all.length]!,
      all,
    )
    played.push(round)
    if (isEnough(round, played.length)) break
  }
  return played
}

export const allowsIn = (rounds: readonly Round[]): string[] =>
  rounds.filter(({ allows }) => allows > 0).map(({ kind, form, allows }) => `${kind}, asked ${form}: ${allows} allowed`)
