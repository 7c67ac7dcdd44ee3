import { migrate } from './db/migrate.ts'
import { mirrorDefinitions } from './policy-admin/mirror-definitions.ts'
import { mirrorBuiltinRoles } from './roles/mirror-builtin-roles.ts'

/** Migrations, and what the code owns mirrored into its tables, in one transaction. Returns the migrations it applied. */
export const prepareDatabase = ({ ownerUrl, appRole }: { ownerUrl: string; appRole: string }): Promise<string[]> =>
  migrate({
    ownerUrl,
    appRole,
    also: async (run) => {
      await mirrorBuiltinRoles(run)
      await mirrorDefinitions(run)
    },
  })
