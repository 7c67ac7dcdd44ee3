import { resolve } from 'node:path'
import { StartRefused } from '@gatehouse/server/ground/db/embedded/start-refused'

export type Settings = {
  port: number
  idpPort: number
  nodesPort: number
  metricsPort: number
  /** Given only when somebody asked for it; otherwise any port serves. */
  dbPort: number | undefined
  stateDir: string | undefined
  external: { appUrl: string; ownerUrl: string; appRole: string } | undefined
  /** What is handed on to the server as it is; the server judges it. */
  server: Record<string, string>
}

type Environment = Record<string, string | undefined>

const own = [
  ...['GATEHOUSE_PORT', 'GATEHOUSE_IDP_PORT', 'GATEHOUSE_NODES_PORT', 'GATEHOUSE_METRICS_PORT', 'GATEHOUSE_DB_PORT'],
  'GATEHOUSE_STATE_DIR',
]
const handedOn = ['GATEHOUSE_CHECKPOINT_SECONDS', 'GATEHOUSE_DRAIN_SECONDS', 'GATEHOUSE_LOG_LEVEL', 'GATEHOUSE_REGION']
// A shell in which tests are run may well start a world too.
const ofTests = /^GATEHOUSE_(REQUIRE|TEST_|FUZZ_|SCREENSHOTS)/

/** A name that is not known is a mistake: unheard, a mistyped folder would start, or wipe, another world than the one meant. */
const requireKnown = (env: Environment) => {
  const known = [...own, ...handedOn]
  const unknown = Object.keys(env).filter((name) => name.startsWith('GATEHOUSE_') && !known.includes(name) && !ofTests.test(name))
  if (unknown.length === 0) return
  throw new StartRefused(
    `The local world has no setting ${unknown.sort().join(', ')}. npm start knows ${known.join(', ')}; a server of its own is started with the settings in docs/generated/config.md.`,
  )
}

const portFrom = (env: Environment, name: string): number | undefined => {
  const text = env[name]
  if (!text) return undefined
  const port = Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new StartRefused(`${name} is "${text}", which is no port (1 to 65535).`)
  return port
}

const externalFrom = ({ DATABASE_URL: appUrl, DATABASE_OWNER_URL: ownerUrl }: Environment): Settings['external'] => {
  if (!appUrl && !ownerUrl) return undefined
  if (!appUrl || !ownerUrl) {
    throw new StartRefused(
      'DATABASE_URL (the application) and DATABASE_OWNER_URL (migrations) go together, and one of them is missing. Set both, or neither to use the embedded PostgreSQL.',
    )
  }
  if (!URL.canParse(appUrl) || !URL.canParse(ownerUrl))
    throw new StartRefused('DATABASE_URL or DATABASE_OWNER_URL is no URL of the form postgresql://user:password@host:port/database')
  return { appUrl, ownerUrl, appRole: decodeURIComponent(new URL(appUrl).username) }
}

export const readSettings = (env: Environment): Settings => {
  requireKnown(env)
  const settings = {
    port: portFrom(env, 'GATEHOUSE_PORT') ?? 8090,
    idpPort: portFrom(env, 'GATEHOUSE_IDP_PORT') ?? 8091,
    nodesPort: portFrom(env, 'GATEHOUSE_NODES_PORT') ?? 8093,
    metricsPort: portFrom(env, 'GATEHOUSE_METRICS_PORT') ?? 9464,
    dbPort: portFrom(env, 'GATEHOUSE_DB_PORT'),
    stateDir: env.GATEHOUSE_STATE_DIR ? resolve(env.GATEHOUSE_STATE_DIR) : undefined,
    external: externalFrom(env),
    server: Object.fromEntries(handedOn.flatMap((name) => (env[name] ? [[name, env[name]]] : []))),
  }
  if (settings.port === settings.idpPort)
    throw new StartRefused(`The server and the identity provider cannot both have port ${settings.port}.`)
  if (settings.nodesPort === settings.port || settings.nodesPort === settings.idpPort)
    throw new StartRefused(`The door of the nodes cannot have port ${settings.nodesPort} too.`)
  if ([settings.port, settings.idpPort, settings.nodesPort].includes(settings.metricsPort))
    throw new StartRefused(`The metrics cannot have port ${settings.metricsPort} too.`)
  return settings
}
