import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './access/chance.ts'
import { type Form, formNames, forms } from './asking.ts'
import type { Revoke } from './revoke.ts'
import type { Scene } from './revokes.ts'
import { turnstile } from './turnstile.ts'

/** Asked when, of which process, and answered how. */
interface Asked {
  readonly base: string
  readonly began: number
  readonly allowed: boolean
}

export interface Round {
  readonly number: number
  readonly kind: string
  readonly form: Form
  /** Questions that began before the revoke was answered, and those that began after it. */
  readonly before: number
  readonly after: number
  /** Refused for want of time, which proves nothing and is in neither of the two. */
  readonly unanswered: number
  /** Began after it, and were allowed. */
  readonly allows: number
}

/** Of answers that there is no time for one: a busy machine may give many of them. */
const mostTries = 100

/**
 * Takes a right away by one process while all of them are being asked about it. What began before the answer may say either; what
 * began after it, and be it at the same moment, must not say allow. Each process has to give at least one answer after it.
 */
const playRound = async (
  scene: Scene,
  { kind, question: asksFor, revoke, restore, tolerated = 0, machine }: Revoke,
  form: Form,
  by: string,
  all: readonly string[],
  chance: Chance | undefined,
): Promise<Omit<Round, 'number'>> => {
  const asked: Asked[] = []
  let unanswered = 0
  // Each round has a token of its own: what was ended once does not come back.
  const about = machine ? await machine.begin(by) : scene.person
  const question = typeof asksFor === 'function' ? asksFor() : asksFor
  // What ends a token leaves to others what they may do to its account.
  const isOfItself = form !== 'by_another' || machine?.is_of_token === true
  const asks = forms[isOfItself && form === 'by_another' ? 'alone' : form]
  const ask = async (base: string): Promise<boolean | null> => {
    const began = performance.now()
    const allowed = await (isOfItself && machine?.asks ? machine.asks(base, about) : asks(base, { about, other: scene.other, question }))
    if (allowed === null) unanswered += 1
    else asked.push({ base, began, allowed })
    return allowed
  }
  // A refusal for want of time is no deny, so a busy machine gets a few tries to say that there is something to revoke. And a build that keeps
  // what it knew a while gets longer than that: it is to be found by what it allows.
  const warm = async (base: string) => {
    let denials = 0
    for (let tries = 0; tries < mostTries && denials < 10; tries += 1) {
      const allowed = await ask(base)
      if (allowed) return
      if (allowed === false) {
        denials += 1
        await sleep(40)
      }
    }
    throw new Error(`${kind}, ${form}: nothing to revoke`)
  }
  const askUntilAnswered = async (base: string) => {
    for (let tries = 0; tries < mostTries; tries += 1) if ((await ask(base)) !== null) return
    throw new Error(`${kind}, ${form}: no answer after the revoke`)
  }
  await Promise.all(all.map(warm))
  let isOver = false
  // Two lanes each, so that one may begin while the other waits. A short rest by chance lets them begin at other moments each time, and
  // leaves the machine to others.
  const asking = Promise.all(
    [...all, ...all].map(async (base) => {
      while (!isOver) {
        await ask(base)
        if (chance) await sleep(chance.below(10))
      }
    }),
  )
  asking.catch(() => {})
  let done: number
  try {
    await revoke(by)
    done = performance.now()
    await Promise.all(all.map(askUntilAnswered))
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
    unanswered,
    allows: allows.reduce((sum, each) => sum + Math.max(0, each - tolerated), 0),
  }
}

type IsEnough = (round: Round, played: number) => boolean

/** How many rounds, over all kinds of revokes, in all forms of asking, each process in its turn; or until told to stop. */
export const playRounds = (scene: Scene, all: readonly string[], rounds: number, isEnough?: IsEnough): Promise<Round[]> =>
  playTogether([scene], all, rounds, isEnough === undefined ? {} : { isEnough })

interface Playing {
  readonly isEnough?: IsEnough
  readonly chance?: Chance
  /** Which form of asking and which process are the first. */
  readonly first?: number
  /** Numbers of rounds that were played before. */
  readonly done?: ReadonlySet<number>
}

/** The same in several scenes at once, which have nothing in common but the platform; what concerns everybody is tried alone. */
export const playTogether = async (
  scenes: readonly Scene[],
  all: readonly string[],
  rounds: number,
  { isEnough = () => false, chance, first = chance?.below(formNames.length * all.length) ?? 0, done = new Set() }: Playing = {},
): Promise<Round[]> => {
  const played: Round[] = []
  const pass = turnstile()
  let begun = 0
  let isOver = false
  const playIn = async (scene: Scene) => {
    const { revokes } = scene
    while (begun < rounds && !isOver) {
      const n = begun
      begun += 1
      if (done.has(n)) continue
      const kind = n % revokes.length
      const revoke = revokes[kind]!
      // In fifteen turns each kind meets each form of asking by each of three processes.
      const step = first + kind + Math.floor(n / revokes.length)
      const [form, by] = [formNames[step % formNames.length]!, all[step % all.length]!]
      const found = await pass(revoke.concerns === 'everybody', () => playRound(scene, revoke, form, by, all, chance))
      const round = { number: n, ...found }
      played.push(round)
      if (isEnough(round, played.length)) isOver = true
    }
  }
  try {
    await Promise.all(scenes.map(playIn))
  } finally {
    isOver = true
  }
  return played
}

export const allowsIn = (rounds: readonly Round[]): string[] =>
  rounds.filter(({ allows }) => allows > 0).map(({ kind, form, allows }) => `${kind}, asked ${form}: ${allows} allowed`)
