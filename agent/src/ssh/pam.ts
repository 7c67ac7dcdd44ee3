import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { HandsFailed } from '../hands.ts'
import type { Layout } from './layout.ts'

const ours = /# gatehouse-agent: begin\n[\s\S]*?# gatehouse-agent: end\n/g

/** The text of a file that another includes. */
export type Included = (name: string) => string

/** Those that lie beside a file, or where they say themselves. One that cannot be read may say anything. */
export const includedBeside =
  (path: string): Included =>
  (name) => {
    try {
      return readFileSync(resolve(dirname(path), name), 'utf8')
    } catch (error) {
      throw new HandsFailed('pam_not_understood', error)
    }
  }

interface Step {
  readonly type: string
  readonly text: string
  /** Where in the outermost file the line stands that leads to it. */
  readonly at: number
}

const include = /^@include\s+(\S+)/
const includeOf = /^-?(auth|account|password|session)\s+(?:include|substack)\s+(\S+)/i
const step = /^-?(auth|account|password|session)\s/i

/** All that PAM would do by a file, in its order, and with what lies in others. */
const stepsIn = (pam: string, included: Included, depth = 0): Step[] => {
  if (depth > 32) throw new HandsFailed('pam_not_understood')
  const within = (name: string) => stepsIn(included(name), included, depth + 1)
  let at = 0
  const found: Step[] = []
  // A line may go on in the next.
  for (const written of pam.match(/(?:\\\n|[^\n])*\n?/g) ?? []) {
    const text = written.replaceAll('\\\n', ' ').replace(/#.*$/m, '').trim()
    const [, all] = include.exec(text) ?? []
    const [, of, name] = includeOf.exec(text) ?? []
    const here = at
    if (all) found.push(...within(all).map((each) => ({ ...each, at: here })))
    else if (of && name) found.push(...within(name).flatMap((each) => (each.type === of.toLowerCase() ? [{ ...each, at: here }] : [])))
    else if (step.test(text)) found.push({ type: step.exec(text)![1]!.toLowerCase(), text, at: here })
    at += written.length
  }
  return found
}

const setsEnvironment = ({ text }: Step): boolean => /\bpam_env\.so\b/.test(text)
/** It takes the word of users for what programs are run with. */
const trustsUsers = ({ text }: Step): boolean => text.includes('user_readenv=1')
/** It gives a session another group than it has. */
const movesSession = ({ text }: Step): boolean => /\bpam_(systemd|elogind|cgfs|cgroup)\.so\b/.test(text)

/**
 * For other accounts the hook is skipped, not run: whatever becomes of it, the node's own people get in. When a session closes the hook is
 * not run: its environment would be what the account wrote down at home, and the hook is root's.
 */
const linesFor = ({ group, hook }: Layout): string =>
  [
    '# gatehouse-agent: begin',
    `session [success=ignore default=1] pam_succeed_if.so quiet user ingroup ${group}`,
    `session required pam_exec.so quiet type=open_session ${hook}`,
    '# gatehouse-agent: end',
    '',
  ].join('\n')

export const withoutHook = (pam: string): string => pam.replace(ours, '')

/**
 * The file with the hook in it. It stands before whatever reads an environment that users can write (`~/.pam_environment`): from there on
 * they would choose what the hook runs. And as late as that allows: what else moves a session into a group of its own comes before it.
 * Where only one of both can be had, what sets an environment without asking users may come first.
 */
export const withHook = (pam: string, layout: Layout, included: Included): string => {
  const plain = withoutHook(pam).replace(/\n*$/, '\n')
  const steps = stepsIn(plain, included).filter(({ type }) => type === 'session')
  const first = (is: (each: Step) => boolean) => steps.find(is)?.at ?? plain.length
  const early = first(setsEnvironment)
  const at = steps.some((each) => each.at >= early && movesSession(each)) ? first(trustsUsers) : early
  return plain.slice(0, at) + linesFor(layout) + plain.slice(at)
}

/** Why the hook cannot be relied on where it stands; null: it can. */
export const faultOfHook = (pam: string, layout: Layout, included: Included): 'pam_trusts_users' | 'pam_moves_sessions' | null => {
  const steps = stepsIn(pam, included)
  const hook = steps.findIndex(({ type, text }) => type === 'session' && text.includes('pam_exec.so') && text.endsWith(` ${layout.hook}`))
  // Whoever logs in goes through all others before any session is opened.
  if (steps.some((each, index) => (each.type !== 'session' || index < hook) && trustsUsers(each))) return 'pam_trusts_users'
  // From there on the group that the hook made would be empty, and what is ended by it would not end.
  return steps.some((each, index) => each.type === 'session' && index > hook && movesSession(each)) ? 'pam_moves_sessions' : null
}
