import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type LiveServer, testKeys } from '../live-server.ts'
import type { Change } from './faults.ts'
import type { Order, Report } from './serve-builds.ts'

const entry = fileURLToPath(new URL('./serve-builds.ts', import.meta.url))
const compiled = fileURLToPath(new URL('../../node_modules/.cache/gatehouse/compiled', import.meta.url))

/** One more server on the same database, that can be told again and again with which faults it goes on. */
export const startBuilds = ({ clone, issuer }: LiveServer) => {
  const child = fork(entry, [], { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { NODE_COMPILE_CACHE: compiled } })
  const said: string[] = []
  let logged = ''
  child.stdout?.on('data', (bytes: Buffer) => {
    logged += bytes.toString('utf8')
  })
  child.stderr?.on('data', (bytes: Buffer) => said.push(bytes.toString('utf8')))
  const gone = new Promise<never>((_, reject) => child.once('close', () => reject(new Error(`it ended: ${said.join('').slice(-2000)}`))))
  gone.catch(() => {})
  return {
    /** Where the product answers that has these changes; whatever it was before is closed. */
    serve: async (changes: readonly Change[]): Promise<string> => {
      const order: Order = {
        changes,
        settings: {
          appUrl: clone.appUrl,
          issuer: issuer.settings,
          keys: testKeys,
          cursorKey: 'test-'.padEnd(48, 'k'),
          build: 'sound',
          logLevel: 'info',
        },
      }
      child.send(order)
      const [report] = (await Promise.race([once(child, 'message'), gone])) as [Report]
      if ('failed' in report) throw new Error(report.failed)
      return `http://127.0.0.1:${report.port}`
    },
    /** What the log says of a request; it comes a moment after the answer. */
    lineOf: async (correlation_id: string): Promise<string> => {
      for (let tries = 0; tries < 200; tries += 1) {
        const line = logged.split('\n').find((each) => each.includes(correlation_id) && each.endsWith('}'))
        if (line) return line
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      throw new Error('the log says nothing of it')
    },
    stop: async (): Promise<void> => {
      child.kill('SIGKILL')
      await gone.catch(() => {})
    },
  }
}
