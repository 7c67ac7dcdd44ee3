import { readdir, readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { NodeDescription } from '@gatehouse/contract/node-description'
import { HandsFailed } from '../hands.ts'
import type { Layout } from './layout.ts'
import { run } from './system.ts'

/** Which names a pattern stands for: `*`, `?` and sets, in the last part of a path. */
export const patternOf = (glob: string): RegExp =>
  new RegExp(
    `^${glob
      .replace(/[.+^${}()|\\]/g, '\\$&')
      .replaceAll('*', '[^/]*')
      .replaceAll('?', '[^/]')}$`,
  )

const isDevice = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isCharacterDevice() ?? false

const devicesLike = async (glob: string): Promise<string[]> => {
  const pattern = patternOf(basename(glob))
  const names = (await readdir(dirname(glob)).catch(() => [])).filter((name) => pattern.test(name))
  const paths = names.map((name) => join(dirname(glob), name))
  const are_devices = await Promise.all(paths.map(isDevice))
  return paths.filter((_, index) => are_devices[index])
}

/** A GPU is known by the number that its node's name ends in. */
const devicesOf = async ({ devices }: Layout): Promise<NodeDescription['devices']> => {
  const paths = (await Promise.all(devices.own.map(devicesLike))).flat()
  const by_index = new Map<number, string[]>()
  for (const path of new Set(paths)) {
    const [digits] = /\d+$/.exec(path) ?? []
    if (digits === undefined) continue
    by_index.set(Number(digits), [...(by_index.get(Number(digits)) ?? []), path])
  }
  return [...by_index].map(([index, own]) => ({ index, paths: own.sort() })).sort((one, other) => one.index - other.index)
}

const hostKeysIn = async (files: readonly string[]): Promise<string[]> => {
  const lines = await Promise.all(files.map((file) => readFile(`${file}.pub`, 'utf8').catch(() => '')))
  const keys = lines.map((line) => line.trim().split(/\s+/).slice(0, 2).join(' '))
  return keys.filter((key) => /^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}$/.test(key)).sort()
}

const isEverywhere = (address: string): boolean => ['0.0.0.0', '::', '[::]'].includes(address)

/** What this machine has, and where and by which keys its sshd is known: as sshd itself says it. */
export const describeMachine = async (layout: Layout): Promise<NodeDescription> => {
  const { sshd, devices, ssh_host } = layout
  const { code, stdout, stderr } = await run(sshd.program, ['-T', '-f', sshd.config])
  if (code !== 0) throw new HandsFailed('sshd_config_broken', new Error(stderr.trim().slice(0, 200)))
  const saidOf = (name: string) => [...stdout.matchAll(new RegExp(`^${name} (.*)$`, 'gm'))].map(([, value]) => value!)
  const addresses = saidOf('listenaddress').map((each) => each.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1'))
  const only = addresses.find((each) => !isEverywhere(each))
  const is_everywhere = addresses.length === 0 || addresses.some(isEverywhere)
  const own = await devicesOf(layout)
  const owned = new Set(own.flatMap(({ paths }) => paths))
  const shared = (await Promise.all(devices.shared.map(devicesLike))).flat().filter((path) => !owned.has(path))
  return {
    devices: own,
    shared_devices: [...new Set(shared)].sort(),
    ssh_host: ssh_host ?? (is_everywhere || only === undefined ? hostname() : only),
    ssh_port: Number(saidOf('port')[0] ?? 22),
    ssh_host_keys: await hostKeysIn(saidOf('hostkey')),
  }
}
