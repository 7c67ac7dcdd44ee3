import { execFile } from 'node:child_process'
import { HandsFailed } from '../hands.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program of the system, without a shell and without anything of our environment; as somebody else where one is named. */
export const run = (program: string, args: readonly string[], as: { uid?: number; gid?: number } = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { timeout: 20_000, env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }, cwd: '/', ...as }
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error ? (typeof error.code === 'number' ? error.code : 255) : 0, stdout, stderr })
    })
  })

/** The same, where it must succeed; `failure` is the word for it. */
export const must = async (failure: string, program: string, args: readonly string[]): Promise<Ran> => {
  const ran = await run(program, args)
  if (ran.code !== 0) throw new HandsFailed(failure, new Error(`${program} ended with ${ran.code}: ${ran.stderr.trim().slice(0, 200)}`))
  return ran
}
