import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { spend } from '../spent.ts'

interface Where {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
}

/** Starts processes, hears what they say, and ends those that are left. */
export const launcher = () => {
  const children: ChildProcess[] = []
  const launch = (command: string, words: readonly string[], { cwd, env }: Where) => {
    const { NODE_COMPILE_CACHE } = process.env
    const child = spawn(command, words, { cwd, env: { NODE_COMPILE_CACHE, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    children.push(child)
    /** By either way, and by both in the order in which it came. */
    const heard = { out: '', err: '', text: '' }
    for (const way of ['out', 'err'] as const)
      child[`std${way}`].setEncoding('utf8').on('data', (text: string) => {
        heard[way] += text
        heard.text += text
      })
    return { child, heard, closed: once(child, 'close').then(([code]) => code as number | null) }
  }
  const endAll = async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
  return { launch, endAll }
}

type Launched = ReturnType<ReturnType<typeof launcher>['launch']>

/** Where a server says that it listens; what it says in place of that is the reason why it does not. */
export const addressOf = (launched: Launched): Promise<string> => spend('process starts', () => untilListening(launched))

const untilListening = async ({ child, heard }: Launched): Promise<string> => {
  const began = performance.now()
  for (;;) {
    const found = /Server listening at (http:\/\/[\d.:]+)/.exec(heard.out)?.[1]
    if (found) return found
    if (child.exitCode !== null || child.signalCode !== null || performance.now() - began > 120_000)
      throw new Error(`it did not start: ${heard.text}`)
    await sleep(50)
  }
}
