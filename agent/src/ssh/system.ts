import { execFile } from 'node:child_process'
import { HandsFailed } from '../hands.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const usual_ms = 20_000
/** How long one may take that was ended: it may hang in the kernel. */
const ending_ms = 2_000

/**
 * Runs a program of the system as root, without a shell and without anything of our environment. Nothing runs as an account: it could stop
 * what is its own, and whoever waits for it. What takes too long is ended in a way that nothing can hold up, and not waited for any further.
 */
export const run = (
  program: string,
  args: readonly string[],
  { timeout_ms = usual_ms, signal }: { readonly timeout_ms?: number | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<Ran> =>
  new Promise((resolve) => {
    const options = {
      ...(signal ? { signal } : {}),
      timeout: timeout_ms,
      killSignal: 'SIGKILL' as const,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      cwd: '/',
      maxBuffer: 64 * 2 ** 20,
    }
    const late = setTimeout(() => resolve({ code: 255, stdout: '', stderr: 'it did not end' }), timeout_ms + ending_ms)
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      clearTimeout(late)
      const code = error ? (typeof error.code === 'number' ? error.code : 255) : 0
      resolve({ code, stdout, stderr: stderr || (code === 255 ? (error?.message ?? '') : '') })
    })
    child.stdin?.end()
  })

/** The same, where it must succeed; `failure` is the word for it. */
export const must = async (failure: string, program: string, args: readonly string[], how?: Parameters<typeof run>[2]): Promise<Ran> => {
  const ran = await run(program, args, how)
  if (ran.code !== 0) throw new HandsFailed(failure, new Error(`${program} ended with ${ran.code}: ${ran.stderr.trim().slice(0, 200)}`))
  return ran
}
