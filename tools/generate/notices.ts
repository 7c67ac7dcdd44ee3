import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Document } from './document.ts'

interface LockedPackage {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
  readonly link?: boolean
}
interface Notice {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly texts: readonly string[]
}

const isLegalFile = (name: string): boolean => /^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/i.test(name)

/** What runs in production. Packages that only build, test or start the embedded world are not shipped. */
const isShipped = (path: string, { dev, devOptional, optional, link }: LockedPackage): boolean =>
  path.includes('node_modules/') && !(dev || devOptional || optional || link)

const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

const textsIn = (folder: string): string[] => {
  if (!existsSync(folder)) throw new Error(`${folder} is not installed: its licence cannot be read`)
  const files = readdirSync(folder).filter(isLegalFile).sort()
  return files.map((file) => readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n').trim())
}

const noticesOf = (packages: Readonly<Record<string, LockedPackage>>): Notice[] =>
  Object.entries(packages)
    .filter(([path, locked]) => isShipped(path, locked))
    .map(([path, { version = '', license }]) => {
      if (license === undefined) throw new Error(`${nameOf(path)} names no licence`)
      return { name: nameOf(path), version, license, texts: textsIn(path) }
    })
    .sort((one, other) => (`${one.name}@${one.version}` < `${other.name}@${other.version}` ? -1 : 1))

const section = ({ name, version, license, texts }: Notice): string => {
  const text = texts.length === 0 ? 'The package ships no licence file.' : texts.join('\n\n')
  return `${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n${text}\n`
}

const make = async (): Promise<string> => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const head =
    'Licences of the packages that the server, the agent and the development identity provider run with.\nWritten by `npm run generate`.'
  return `${head}\n\n${noticesOf(packages).map(section).join('\n')}`
}

export const noticesDocument: Document = { path: 'THIRD-PARTY-NOTICES.txt', make }
