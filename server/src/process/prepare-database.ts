import { mirrorDefinitions } from '#desk/policy-admin/mirror-definitions.ts'
import { migrate } from '#ground/db/migrate.ts'
import { mirrorBuiltinRoles } from '#people/roles/mirror-builtin-roles.ts'

/** Writes what the code owns into its tables. The statements depend on the code alone. */
export const mirrorCode = async (run: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> => {
  await mirrorBuiltinRoles(run)
  await mirrorDefinitions(run)
}

/** Migrations, and what the code owns mirrored into its tables, in one transaction. Returns the migrations it applied. */
export const prepareDatabase = ({ ownerUrl, appRole }: { ownerUrl: string; appRole: string }): Promise<string[]> =>
  migrate({ ownerUrl, appRole, also: mirrorCode })
