import type { Database } from '#ground/db/database.ts'
import { schemaIsCurrent } from '#ground/db/schema-checks.ts'
import { ownsTables } from '#ground/db/schema-queries.ts'
import { anySeededUser } from '#people/principals/user-queries.ts'
import type { Config } from '../config.ts'
import { ConfigRefused } from '../config.ts'
import { prepareDatabase } from './prepare-database.ts'

const roleOf = (url: string) => decodeURIComponent(new URL(url).username)

/** Brings the schema up to date where the owner's URL is given, and refuses a database that is not fit for the profile. */
export const requireFitDatabase = async (config: Config, database: Database): Promise<void> => {
  const { profile, database_url, database_owner_url } = config
  if (database_owner_url) await prepareDatabase({ ownerUrl: database_owner_url.reveal(), appRole: roleOf(database_url.reveal()) })
  else if (!(await schemaIsCurrent(database.reader)))
    throw new ConfigRefused('The database schema is not that of this version; set DATABASE_OWNER_URL so that the server can migrate it.')
  if (profile !== 'production') return
  if ((await database.reader.one(ownsTables())).owns_tables)
    throw new ConfigRefused('The role in DATABASE_URL owns the tables or is a superuser; production needs one that owns nothing.')
  if (await database.reader.maybe(anySeededUser()))
    throw new ConfigRefused('This database holds seeded development people; production refuses it.')
}
