import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

export type Flags = {
  help: boolean
  /** Restarts the server when one of its files changes. */
  watch: boolean
  /** Where the server opens Node's inspector, if it does. */
  inspectPort: number | undefined
}

const usualInspectPort = 9229

export const help = `npm start [-- flags]      starts the database, the identity provider and the server
npm run dev [-- flags]    the same, and restarts the server when one of its files changes (npm start -- --watch)

  --inspect[=port]  opens Node's inspector of the server on 127.0.0.1, port ${usualInspectPort} unless given
  --watch           restarts the server when a file under server/src, contract/src or db changes
  --help            prints this text

Settings are environment variables: GATEHOUSE_PORT, GATEHOUSE_IDP_PORT, GATEHOUSE_NODES_PORT, GATEHOUSE_METRICS_PORT,
GATEHOUSE_DB_PORT, GATEHOUSE_STATE_DIR, GATEHOUSE_LOG_LEVEL and DATABASE_URL with DATABASE_OWNER_URL. CONTRIBUTING.md says how to debug one request.`

const inspectPortFrom = (text: string): number => {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port < 1 || port > 65535) throw new StartRefused(`--inspect=${text} names no port (1 to 65535).`)
  return port
}

/** An unknown flag is refused: a mistyped one would otherwise start something else than its author wanted. */
export const readFlags = (args: readonly string[]): Flags => {
  const flags: Flags = { help: false, watch: false, inspectPort: undefined }
  for (const arg of args) {
    if (arg === '--help' || arg === '-h') flags.help = true
    else if (arg === '--watch') flags.watch = true
    else if (arg === '--inspect') flags.inspectPort = usualInspectPort
    else if (arg.startsWith('--inspect=')) flags.inspectPort = inspectPortFrom(arg.slice('--inspect='.length))
    else throw new StartRefused(`npm start has no flag ${arg}. It knows --inspect[=port], --watch and --help.`)
  }
  return flags
}
