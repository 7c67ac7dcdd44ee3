import { setTimeout as sleep } from 'node:timers/promises'
import { client, NoAnswerError, ProblemError, UnexpectedAnswerError } from '@gatehouse/contract/client'
import { issueSharedRuntimeOperatorToken } from '@gatehouse/contract/tokens'
import { keptToken } from './kept-token.ts'
import { newRound } from './round.ts'
import { SettingRefused, settingsIn } from './settings.ts'

const exit = { well: 0, failed: 1, settings: 2, credential: 3 } as const
const most_refusals = 3
const longest_pause_ms = 60_000

/** One line each. What is said is chosen: numbers, states and codes, and never a whole answer. */
const say = (said: Readonly<Record<string, unknown>>): void =>
  console.log([new Date().toISOString(), ...Object.entries(said).map(([name, value]) => `${name}=${value}`)].join(' '))

/** Errors of ours hold no secret; of others only the kind is told. */
const wordFor = (error: unknown): string => {
  const isOurs = [ProblemError, UnexpectedAnswerError, NoAnswerError, SettingRefused].some((kind) => error instanceof kind)
  const { message, code, name } = error as NodeJS.ErrnoException
  return JSON.stringify(isOurs ? message : (code ?? name))
}

const isCredentialRefused = (error: unknown): boolean =>
  error instanceof ProblemError && error.operation_id === issueSharedRuntimeOperatorToken.id && error.status === 401

const pauseAfter = (failures: number, period_ms: number): number => {
  const longest = failures === 0 ? period_ms : Math.min(longest_pause_ms, Math.max(500, period_ms) * 2 ** Math.min(failures, 20))
  return longest * (0.8 + Math.random() * 0.2)
}

const run = async (signal: AbortSignal, is_once: boolean): Promise<number> => {
  const settings = settingsIn(process.env)
  // Whatever this process starts later has no use for it.
  delete process.env.CONTROLLER_CLIENT_SECRET
  const { url, shared_runtime_id, token_ttl_seconds: ttl_seconds } = settings
  const issuer = client({ url })
  const token = keptToken({
    ask: async () => {
      const body = { shared_runtime_id, ...(await settings.credential()), ...(ttl_seconds === undefined ? {} : { ttl_seconds }) }
      const issued = await issuer.call(issueSharedRuntimeOperatorToken, { body, signal })
      say({ token: 'issued', expires_in_seconds: issued.expires_in_seconds })
      return issued
    },
    isRefused: isCredentialRefused,
  })
  const round = newRound(client({ url, token }), settings, signal)

  let failures = 0
  let refusals = 0
  for (let counted = 1; !signal.aborted; counted += 1) {
    try {
      say({ round: counted, ...(await round()) })
      failures = 0
      refusals = 0
    } catch (error) {
      if (signal.aborted) break
      if (error instanceof SettingRefused && counted === 1) throw error
      failures += 1
      say({ round: counted, failed: wordFor(error) })
      // It may have been rotated a moment ago, and the file be written now; but asking for ever would only look like guessing.
      refusals = isCredentialRefused(error) ? refusals + 1 : 0
      if (refusals > 0 && (is_once || refusals === most_refusals)) {
        say({ ended: 'credential_refused' })
        return exit.credential
      }
    }
    if (is_once) return failures === 0 ? exit.well : exit.failed
    await sleep(pauseAfter(failures, settings.period_ms), undefined, { signal }).catch(() => {})
  }
  say({ ended: 'asked_to' })
  return exit.well
}

const words = process.argv.slice(2)
const ending = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ending.abort())

if (words.some((word) => word !== '--once')) {
  // Not repeated: somebody may have put a secret there.
  console.error('usage: node main.ts [--once]; everything else is read from the environment, see README.md')
  process.exitCode = exit.settings
} else {
  process.exitCode = await run(ending.signal, words.length > 0).catch((error: unknown) => {
    console.error(wordFor(error))
    return error instanceof SettingRefused ? exit.settings : exit.failed
  })
}
