import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { registeredNode } from '../enrolled-node.ts'
import { faultWorld, type Place } from '../faults/world.ts'
import { nodePlace } from '../ssh/node-place.ts'
import { commandsOf } from '../typed/commands.ts'
import { type Box, type BoxOptions, bootBox } from './box.ts'
import { blockOf, operatorOn } from './typing.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** Types the guide's first block here, where the sources are: it makes the one file and copies it, by scp, with the unit and the guide. */
const bringFrom = async (box: Box): Promise<void> => {
  const config = join(box.folder, 'ssh-config')
  const settings = [
    `HostName 127.0.0.1`,
    `Port ${box.port}`,
    `IdentityFile ${box.root_key}`,
    'IdentitiesOnly yes',
    'StrictHostKeyChecking no',
  ]
  writeFileSync(
    config,
    ['Host gpu-001', ...settings, 'UserKnownHostsFile /dev/null', 'LogLevel ERROR', 'ConnectionAttempts 30', ''].join('\n'),
  )
  // A name that only the operator's own settings know is told to scp; all else is as it stands.
  for (const { text } of commandsOf(blockOf('npm run bundle:agent').text))
    await run('bash', ['-euc', `scp() { command scp -F '${config}' "$@"; }\n${text}`], { cwd: root })
}

export interface BoxNodeOptions extends BoxOptions {
  readonly sku?: string
  readonly gpus?: number
  /** Done when all is installed, and before anything runs: where a story tries another unit than the shipped one. */
  readonly alter?: (box: Box) => Promise<unknown>
}

/** A machine that became a node as the guide says: every command typed by somebody who is logged in to it. */
export const boxNode = async (
  call: Parameters<typeof registeredNode>[0]['call'],
  { sku = 'box', gpus = 64, alter, ...options }: BoxNodeOptions,
) => {
  const box = await bootBox(options)
  try {
    const operator = operatorOn(box)
    await bringFrom(box)
    await operator.typeBlock('install -D')
    await alter?.(box)
    const { id, token } = await registeredNode({ call }, { sku, gpus })
    const typed = await operator.typeBlock('umask 077', (command) => (command.includes('cat > token') ? `${token}\n` : ''))
    const status = async () => JSON.parse((await box.shell('gatehouse-agent status --json')).out)
    const connected = async () => {
      for (let round = 0; round < 300; round += 1) {
        if ((await status()).server?.state === 'connected') return
        await pause(100)
      }
      throw new Error(`the agent has not come to the door: ${(await box.shell('journalctl -u gatehouse-agent -o cat --no-pager')).out}`)
    }
    await connected()
    return {
      box,
      id,
      sku,
      token,
      operator,
      /** What the guide's commands said when it was installed. */
      typed,
      status,
      connected,
      log: () => box.sure('journalctl -u gatehouse-agent -o cat --no-pager'),
      stop: async () => {
        await operator.leave().catch(() => {})
        await box.stop()
      },
    }
  } catch (error) {
    await box.stop()
    throw error
  }
}

/** Seen from outside of the box, for those who count its sessions or fill its homes. */
export const machineIn = ({ sku, box }: Awaited<ReturnType<typeof boxNode>>) => {
  const root = `/proc/${box.firstProcess()}/root`
  const layout = { sessions_dir: `${root}/var/lib/gatehouse-agent/ssh-sessions`, homes_dir: `${root}/home` }
  return { sku, sshd: { port: box.port, layout } }
}

/** A server process on this database, people, and a node in a box. */
export const boxPlaceOn = async (database: Place & { readonly stop: () => Promise<void> }, options: BoxNodeOptions = {}) => {
  const world = await faultWorld(database, { people: 0 })
  const place = await nodePlace(world)
  const closing = [database.stop, world.stop, place.stop]
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    const node = await boxNode(place.call, options)
    closing.push(node.stop)
    return { world, place, node, box: node.box, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
export type BoxPlace = Awaited<ReturnType<typeof boxPlaceOn>>
