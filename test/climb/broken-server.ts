import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type LiveServer, testKeys } from '../live-server.ts'
import type { Mutant } from './mutants.ts'

const entry = fileURLToPath(new URL('./serve.ts', import.meta.url))
const compiled = fileURLToPath(new URL('../../node_modules/.cache/gatehouse/compiled', import.meta.url))

/** One more server on the same database, in a process of its own, whose text is changed in these places. */
export const startBroken = async ({ clone, issuer }: LiveServer, changes: readonly Mutant[]) => {
  const child = fork(entry, [], {
    execArgv: ['--import', new URL('./change-text.ts', import.meta.url).href],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: {
      NODE_COMPILE_CACHE: compiled,
      GATEHOUSE_CHANGES: JSON.stringify(changes),
    },
  })
  const said: string[] = []
  child.stderr?.on('data', (bytes: Buffer) => said.push(bytes.toString('utf8')))
  const gone = new Promise<never>((_, reject) =>
    child.once('close', () => reject(new Error(`the server ended: ${said.join('').slice(-2000)}`))),
  )
  gone.catch(() => {})
  child.send({
    appUrl: clone.appUrl,
    issuer: issuer.settings,
    keys: testKeys,
    cursorKey: 'test-'.padEnd(48, 'k'),
    build: 'sound',
    logLevel: 'silent',
  })
  const [{ port }] = (await Promise.race([once(child, 'message'), gone])) as [{ port: number }]
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill('SIGKILL')
      await gone.catch(() => {})
    },
  }
}
