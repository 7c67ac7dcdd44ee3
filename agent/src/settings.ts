import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Layout } from './ssh/layout.ts'
import { usualLayout } from './ssh/layout.ts'

const usual_file = '/etc/gatehouse-agent/agent.json'

export interface Settings {
  readonly state_dir: string
  /** Where the nodes' door is, if not where the enrolment token says. */
  readonly url: string | undefined
  readonly layout: Layout
}

export interface Command {
  readonly verb: string
  readonly settings: Settings
  readonly token_file: string | undefined
  readonly is_json: boolean
  /** Of the machine to be cleared, where its state is lost. */
  readonly node_id: string | undefined
}

export const usage = `gatehouse-agent: the hands of a Gatehouse node

  gatehouse-agent enrol --token-file FILE   enrol with a token; - reads it from standard input
  gatehouse-agent prepare                   tell sshd and PAM of managed accounts; once, and after each update
  gatehouse-agent run                       perform what the control plane asks for, until stopped
  gatehouse-agent status [--json]           what the running agent knows
  gatehouse-agent clear                     for a machine that is a node no more: takes away every managed account with its home, and the state;
                                            --node ID where the state is lost
  gatehouse-agent version

  --config FILE   settings as JSON (${usual_file} if it is there): state_dir, url, ssh_host, devices, layout
  --state DIR     where keys, certificate and what was applied are kept (/var/lib/gatehouse-agent)
  --url URL       where the nodes' door is, if not where the token says
`

interface SettingsFile {
  readonly state_dir?: string
  readonly url?: string
  readonly ssh_host?: string
  readonly devices?: Partial<Layout['devices']>
  readonly layout?: Partial<Omit<Layout, 'sshd'>> & { readonly sshd?: Partial<Layout['sshd']> }
}

const known = new Set(['state_dir', 'url', 'ssh_host', 'devices', 'layout'])

const readSettings = (file: string | undefined): SettingsFile => {
  let text: string
  try {
    text = readFileSync(file ?? usual_file, 'utf8')
  } catch (error) {
    if (file === undefined && (error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw new Error(`${file ?? usual_file} cannot be read`)
  }
  let settings: SettingsFile
  try {
    settings = JSON.parse(text) as SettingsFile
  } catch {
    throw new Error(`${file ?? usual_file} is not JSON`)
  }
  // A setting with a slip of the pen in its name would silently not count.
  const strange = Object.keys(settings).find((name) => !known.has(name))
  if (strange !== undefined) throw new Error(`${file ?? usual_file} has a setting that is none: ${strange}`)
  return settings
}

const requireHttps = (url: string | undefined): string | undefined => {
  if (url !== undefined && (!URL.canParse(url) || new URL(url).protocol !== 'https:')) throw new Error('the url must be an https address')
  return url
}

export const readCommand = (args: readonly string[]): Command => {
  const options = {
    config: { type: 'string' },
    state: { type: 'string' },
    url: { type: 'string' },
    'token-file': { type: 'string' },
    json: { type: 'boolean' },
    node: { type: 'string' },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
  const [verb, ...rest] = positionals
  if (verb === undefined || rest.length > 0) throw new Error('which command?')
  const file = readSettings(values.config)
  const { ssh_host, devices } = file
  const layout: Layout = {
    ...usualLayout,
    ...file.layout,
    sshd: { ...usualLayout.sshd, ...file.layout?.sshd },
    ...(ssh_host === undefined ? {} : { ssh_host }),
    ...(devices === undefined ? {} : { devices: { ...usualLayout.devices, ...devices } }),
  }
  return {
    verb,
    settings: {
      state_dir: values.state ?? file.state_dir ?? '/var/lib/gatehouse-agent',
      url: requireHttps(values.url ?? file.url),
      layout,
    },
    token_file: values['token-file'],
    is_json: values.json ?? false,
    node_id: values.node,
  }
}
