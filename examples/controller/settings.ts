import { readFile, stat } from 'node:fs/promises'
import { uuidPattern } from '@gatehouse/contract/shapes'

export interface Credential {
  readonly key_id: string
  readonly client_secret: string
}

export interface Settings {
  readonly url: string
  readonly org_id: string
  readonly shared_runtime_id: string
  /** Read anew each time: who rotates the credential replaces the file, and nothing has to be started again. */
  readonly credential: () => Promise<Credential>
  readonly period_ms: number
  readonly token_ttl_seconds: number | undefined
  /** A secret that was left for the runtime, and the file that it belongs into. */
  readonly wanted: { readonly name: string; readonly file: string } | undefined
}

/** A setting that is missing or cannot be used. Says which, and never what was in it. */
export class SettingRefused extends Error {
  override readonly name = 'SettingRefused'
}

type Environment = Readonly<Record<string, string | undefined>>

const isId = (text: unknown): text is string => typeof text === 'string' && new RegExp(uuidPattern).test(text)

const required = (environment: Environment, name: string): string => {
  const said = environment[name]
  if (said === undefined || said === '') throw new SettingRefused(`${name} is missing`)
  return said
}

const idOf = (environment: Environment, name: string): string => {
  const said = required(environment, name)
  if (!isId(said)) throw new SettingRefused(`${name} is not an id`)
  return said
}

const numberOf = (environment: Environment, name: string, fallback: number | undefined): number | undefined => {
  const said = environment[name]
  if (said === undefined || said === '') return fallback
  const number = Number(said)
  if (!(number > 0 && number <= 86_400)) throw new SettingRefused(`${name} is not a number of seconds`)
  return number
}

const wholeNumberOf = (environment: Environment, name: string): number | undefined => {
  const number = numberOf(environment, name, undefined)
  if (number !== undefined && !Number.isInteger(number)) throw new SettingRefused(`${name} is not a whole number of seconds`)
  return number
}

/** Secrets travel there: in the clear only within this machine. */
const urlOf = (environment: Environment): string => {
  const said = required(environment, 'CONTROLLER_URL')
  const at = URL.canParse(said) ? new URL(said) : undefined
  const isHere = at?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(at.hostname)
  if (at?.protocol !== 'https:' && !isHere) throw new SettingRefused('CONTROLLER_URL must begin with https://, or be on this machine')
  return said
}

const parsed = (text: string): Partial<Credential> | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    // What the parser says repeats some of what it read.
    return undefined
  }
}

/** As the answer that made the credential was kept: of it, two members are read. */
const credentialIn = async (file: string): Promise<Credential> => {
  const { mode } = await stat(file).catch(() => {
    throw new SettingRefused('CONTROLLER_CREDENTIAL_FILE cannot be read')
  })
  if ((mode & 0o077) !== 0) throw new SettingRefused('CONTROLLER_CREDENTIAL_FILE can be read by others; chmod 600')
  const { key_id, client_secret } = parsed(await readFile(file, 'utf8')) ?? {}
  if (!isId(key_id) || typeof client_secret !== 'string')
    throw new SettingRefused('CONTROLLER_CREDENTIAL_FILE holds no key_id and client_secret')
  return { key_id, client_secret }
}

const credentialOf = (environment: Environment): (() => Promise<Credential>) => {
  const file = environment.CONTROLLER_CREDENTIAL_FILE
  if (file) return () => credentialIn(file)
  const credential = { key_id: idOf(environment, 'CONTROLLER_KEY_ID'), client_secret: required(environment, 'CONTROLLER_CLIENT_SECRET') }
  return async () => credential
}

const wantedOf = (environment: Environment): Settings['wanted'] => {
  const name = environment.CONTROLLER_SECRET_NAME
  return name ? { name, file: required(environment, 'CONTROLLER_SECRET_FILE') } : undefined
}

/** From the environment, never from the command line, which every process of the machine can read. */
export const settingsIn = (environment: Environment): Settings => ({
  url: urlOf(environment),
  org_id: idOf(environment, 'CONTROLLER_ORG_ID'),
  shared_runtime_id: idOf(environment, 'CONTROLLER_SHARED_RUNTIME_ID'),
  credential: credentialOf(environment),
  period_ms: numberOf(environment, 'CONTROLLER_PERIOD_SECONDS', 10)! * 1000,
  token_ttl_seconds: wholeNumberOf(environment, 'CONTROLLER_TOKEN_TTL_SECONDS'),
  wanted: wantedOf(environment),
})
