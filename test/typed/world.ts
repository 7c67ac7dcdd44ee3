import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@gatehouse/server/ground/db/embedded/free-port'

const root = join(import.meta.dirname, '../..')
const ours = /^(?:GATEHOUSE_|DATABASE_|VITEST|NODE_ENV)/
const outside = () => Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)))

const worldOnFreePorts = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-typed-'))
  chmodSync(folder, 0o711)
  const state = join(folder, 'state')
  const ports = new Set<number>()
  while (ports.size < 6) ports.add(await freePort())
  const [api, idp, db, nodes, ssh, metrics] = ports
  const env = {
    GATEHOUSE_PORT: `${api}`,
    GATEHOUSE_IDP_PORT: `${idp}`,
    GATEHOUSE_DB_PORT: `${db}`,
    GATEHOUSE_NODES_PORT: `${nodes}`,
    GATEHOUSE_METRICS_PORT: `${metrics}`,
    GATEHOUSE_STATE_DIR: state,
  }
  const child = spawn(process.execPath, ['tools/launch.mjs', 'tools/world.ts'], {
    cwd: root,
    env: { ...outside(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGINT')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  for (const until = performance.now() + 120_000; !said.includes('Ctrl-C stops everything'); await sleep(50)) {
    if (child.exitCode === null && performance.now() < until) continue
    await stop()
    throw new Error(`The world did not come up:\n${said}`)
  }

  const here: Readonly<Record<string, string>> = {
    ':8090': `:${api}`,
    ':8091': `:${idp}`,
    ':8092': `:${db}`,
    ':8093': `:${nodes}`,
    '-p 8094': `-p ${ssh}`,
    ':9464': `:${metrics}`,
    '/tmp/': `${folder}/`,
    '.gatehouse/': `${state}/`,
  }
  return {
    folder,
    env: { ...env, TRY_SSH_PORT: `${ssh}` },
    /** A command with the ports and folders of this world in the place of the usual ones. */
    spelt: (command: string) => Object.entries(here).reduce((text, [usual, own]) => text.replaceAll(usual, own), command),
    stop,
  }
}

/** A new development world, as `npm start` makes it, on ports of its own; and how its documents are spelt here. */
export const freshWorld = async (): ReturnType<typeof worldOnFreePorts> => {
  for (let tries = 1; ; tries += 1)
    try {
      return await worldOnFreePorts()
    } catch (error) {
      // Somebody else may take a port between the moment that it was found free and the start.
      if (tries === 5 || !`${error}`.includes('taken by another process')) throw error
    }
}
