import { newId } from '../../../server/src/ground/kernel/ids.ts'
import type { Ground } from '../revokes.ts'
import { type Act, actsOn, type Held } from './acts.ts'
import { type Asked, attackerOf } from './attacker.ts'
import { type Asking, ask, type Heard, isBusy, isSuccess } from './line.ts'
import { newVictim } from './victim.ts'

const lanes = 50

export interface Round {
  readonly kind: string
  /** Requests of the attacker that began before the act was answered, and those that began after it. */
  readonly before: number
  readonly after: number
  readonly tokens: number
  readonly faults: readonly string[]
}

/** On a busy machine an answer may be that there was no time for one. */
const insist = async (what: string, asking: () => Promise<Heard>): Promise<Heard> => {
  for (let tries = 1; ; tries += 1) {
    const heard = await asking()
    if (isSuccess(heard)) return heard
    if (!isBusy(heard) || tries === 20) throw new Error(`${what} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
  }
}

/** What the attacker was given that he should not have been. */
const giftsIn = (asked: readonly Asked[], act: Act, first: Held, acted: Pick<Heard, 'sent_at' | 'heard_at'>): string[] =>
  asked
    .filter(isSuccess)
    .filter(({ what, sent_at, with_token }) => {
      // Machines never may.
      if (what === 'make a key' || what === 'grant a role') return true
      if (sent_at < acted.heard_at) return false
      return with_token === null ? act.ends_minting : act.isOver(with_token, first, acted.sent_at)
    })
    .map(({ what, status, sent_at }) => `${what} answered ${status}, sent ${(sent_at - acted.heard_at).toFixed(1)} ms after the act was`)

/** What stands in the tables and the record when all is over. */
const faultsIn = async (sql: Ground['sql'], victim_id: string, correlation_id: string, { recorded }: Act, asked: readonly Asked[]) => {
  const [found] = await sql<{ keys: number; bindings: number; tokens: number; rows: string }>(
    `select (select count(*)::int from service_account_keys where service_account_id = $1) as keys,
            (select count(*)::int from project_role_bindings where principal_id = $1) as bindings,
            (select count(*)::int from issued_tokens where actor_id = $1) as tokens,
            (select coalesce(string_agg(action || ' ' || result, ', '), '') from audit_logs where correlation_id = $2) as rows`,
    [victim_id, correlation_id],
  )
  const mints = asked.filter(({ what }) => what === 'mint')
  const [least, most] = [mints.filter(isSuccess).length, mints.filter((mint) => isSuccess(mint) || mint.status >= 500).length]
  const { keys, bindings, tokens, rows } = found!
  return [
    ...(keys === 1 ? [] : [`there are ${keys} keys`]),
    ...(bindings === 1 ? [] : [`there are ${bindings} bindings`]),
    ...(tokens >= least && tokens <= most ? [] : [`${tokens} tokens have rows, and ${least} were given`]),
    ...(rows === `${recorded} success` ? [] : [`the record says of the act: ${rows}`]),
  ]
}

const playRound = async ({ sql }: Pick<Ground, 'sql'>, admin: string, act: Act, by: string, all: readonly string[]): Promise<Round> => {
  const victim = await newVictim({ sql })
  const attacker = attackerOf(victim)
  const { asked, held, use, lane, mint } = attacker
  const baseOf = (number: number) => all[number % all.length]!
  const mintFirst = async (): Promise<Held> => {
    for (let tries = 0; tries < 20; tries += 1) {
      const got = await mint(by)
      if (got) return got
    }
    throw new Error(`${act.kind}: no token was to be had`)
  }
  const first = await mintFirst()
  const each = Array.from({ length: lanes }, (_, number) => number)
  await Promise.all(each.map((number) => insist(`${act.kind}: a use before it`, () => use(baseOf(number), first, number))))

  const correlation_id = `attack-${newId('correlation')}`
  const done = (asking: Asking) => ask(by, { ...asking, token: admin, correlation_id })
  const asking = await act.begin(victim, first)
  let acted: Pick<Heard, 'sent_at' | 'heard_at'> | undefined
  const attack = Promise.all(each.map((number) => lane(number, baseOf(number), first, () => acted !== undefined)))
  attack.catch(() => {})
  const sent_at = performance.now()
  acted = { sent_at, heard_at: (await insist(act.kind, () => done(asking))).heard_at }
  await attack
  const isOver = (token: Held) => act.isOver(token, first, sent_at)
  const restored = act.restore
  if (restored) await insist(`after ${act.kind}`, () => ask(by, { ...restored, token: admin }))
  // One that was about to be issued when the act came, too; and not even when the place is good again.
  await Promise.all(held.filter(isOver).map((token, number) => use(baseOf(number), token, number)))
  return {
    kind: act.kind,
    before: asked.filter(({ sent_at }) => sent_at < acted.heard_at).length,
    after: asked.filter(({ sent_at }) => sent_at >= acted.heard_at).length,
    tokens: held.length,
    faults: [...giftsIn(asked, act, first, acted), ...(await faultsIn(sql, victim.id, correlation_id, act, asked))],
  }
}

/** So many rounds from a number on, each act in its turn and by each server; or until told to stop. */
export const playAttacks = async (
  ground: Ground,
  all: readonly string[],
  rounds: number,
  isEnough: (round: Round, played: number) => boolean = () => false,
  first = 0,
): Promise<Round[]> => {
  const { sql, tokenOf } = ground
  // Figures that are policy, and would make a campaign long: how much one may ask, and how late a wrong secret is answered.
  await sql(`update policy_values set value = '10000000' where key like 'rate_limit.%' and replaced_at is null`)
  await sql(`update policy_values set value = '0' where key = 'auth.wrong_secret.first_delay_milliseconds' and replaced_at is null`)
  const admin = await tokenOf('ada')
  const acts = actsOn(ground)
  const played: Round[] = []
  while (played.length < rounds) {
    const n = first + played.length
    const by = all[(n + Math.floor(n / acts.length)) % all.length]!
    played.push(await playRound(ground, admin, acts[n % acts.length]!, by, all))
    if (isEnough(played.at(-1)!, played.length)) break
  }
  return played
}

export const faultsOf = (rounds: readonly Round[]): string[] =>
  rounds.flatMap(({ kind, faults }) => faults.map((fault) => `${kind}: ${fault}`))
