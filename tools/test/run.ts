import { type ChildProcess, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()
let stopping = false

// Ctrl-C reaches the child by itself; a plain kill reaches only us, and must not leave the child behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopping = true
    if (signal === 'SIGTERM') for (const child of running) child.kill(signal)
  })
}

export type Ran = { ok: boolean; output: string; seconds: number }

const waitFor = async (child: ChildProcess, output: () => string): Promise<Ran> => {
  const started = performance.now()
  running.add(child)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
  running.delete(child)
  // Two may run at once: the last one to end ends us, and nothing more is started.
  if (stopping) return running.size === 0 ? process.exit(130) : new Promise(() => {})
  return { ok: code === 0, output: output(), seconds: (performance.now() - started) / 1000 }
}

/** Runs a script on this same Node and keeps what it says. */
export const runQuietly = (args: readonly string[]): Promise<Ran> => {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  return waitFor(child, () => Buffer.concat(chunks).toString('utf8').trim())
}

/** Runs a script on this same Node and lets it speak; on one stream, so that nothing of it can come after our last line. */
export const runAloud = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> =>
  waitFor(spawn(process.execPath, args, { stdio: ['ignore', 1, 1], env: { ...process.env, ...env } }), () => '')
