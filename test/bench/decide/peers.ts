import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const folder = fileURLToPath(new URL('../peers/', import.meta.url))
const inPeers = createRequire(`${folder}package.json`)

export const peerFile = (name: string): Buffer => readFileSync(`${folder}${name}`)

const packagesIn = (path: string): Record<string, { version?: string; optional?: boolean }> =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {}

const isInstalled = (): boolean => {
  const present = packagesIn(`${folder}node_modules/.package-lock.json`)
  const wanted = Object.entries(packagesIn(`${folder}package-lock.json`))
  return wanted.every(([path, { version, optional }]) => path === '' || optional || present[path]?.version === version)
}

/** They have a lockfile of their own: what is only compared with must not weigh on whoever installs the product. */
export const installPeers = async (): Promise<void> => {
  if (isInstalled()) return
  console.log('Installing the peers of this bench; this happens once.')
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  const [command, first] = npm && node ? [node, [npm]] : ['npm', []]
  const args = [...first, 'ci', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund']
  const [code] = await once(spawn(command, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] }), 'exit')
  if (code !== 0) throw new Error(`npm ended with ${code} in ${folder}`)
}

/** By a path that the compiler does not follow: where nobody ran the bench, the package is not there. */
export const fromPeers = async <Exports>(name: string): Promise<Exports> => {
  const found = await import(pathToFileURL(inPeers.resolve(name)).href)
  return (found.default ?? found) as Exports
}
