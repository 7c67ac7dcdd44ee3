import { resolve } from 'node:path'
import { StartRefused } from '@gatehouse/server/db/embedded/start-refused'

export type Settings = {
  port: number
  idpPort: number
  /** Given only when somebody asked for it; otherwise any port serves. */
  dbPort: number | undefined
  stateDir: string | undefined
  external: { appUrl: string; ownerUrl: string; appRole: string } | undefined
}

type Environment = Record<string, string | undefined>

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
  const settings = {
    port: portFrom(env, 'GATEHOUSE_PORT') ?? 8090,
    idpPort: portFrom(env, 'GATEHOUSE_IDP_PORT') ?? 8091,
    dbPort: portFrom(env, 'GATEHOUSE_DB_PORT'),
    stateDir: env.GATEHOUSE_STATE_DIR ? resolve(env.GATEHOUSE_STATE_DIR) : undefined,
    external: externalFrom(env),
  }
  if (settings.port === settings.idpPort)
    throw new StartRefused(`The server and the identity provider cannot both have port ${settings.port}.`)
  return settings
}
