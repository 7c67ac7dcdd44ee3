import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'
import { bundleOf } from '../bundles.ts'

/** The product as an operator starts it, by its own main file and the environment alone; all that it says is kept. */
export const realServer = async (settings: Record<string, string>) => {
  const [port, nodes_port, metrics_port] = [await freePort(), await freePort(), await freePort()]
  const nodes = { GATEHOUSE_NODES_PORT: String(nodes_port), GATEHOUSE_NODES_URL: `https://127.0.0.1:${nodes_port}` }
  const child = spawn(process.execPath, [await bundleOf('server')], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...settings,
      GATEHOUSE_PORT: String(port),
      ...nodes,
      GATEHOUSE_METRICS_PORT: String(metrics_port),
      GATEHOUSE_LIFELINE: 'stdin',
    },
  })
  child.stdin.on('error', () => {})
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => output.push(bytes))
  const url = `http://127.0.0.1:${port}`
  const spoken = () => Buffer.concat(output)
  for (let tries = 0; tries < 400; tries += 1) {
    if (child.exitCode !== null) throw new Error(`the server did not start: ${spoken()}`)
    if (
      await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      break
    await sleep(50)
  }
  return {
    url,
    nodes_url: nodes.GATEHOUSE_NODES_URL,
    metrics_port,
    spoken,
    stop: async () => {
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
    },
  }
}
