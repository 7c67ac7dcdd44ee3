import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { project } from './state.ts'

type Person = { username: string; platform_role?: string; tenant?: string; tenant_role?: string; project_role?: string }
type Seed = { people: Person[]; tenants: { slug: string; project: { slug: string } }[] }

const rolesOf = ({ platform_role, tenant, tenant_role, project_role }: Person, { tenants }: Seed): string =>
  [
    platform_role,
    tenant_role && `${tenant_role} of ${tenant}`,
    project_role && `${project_role} of ${tenant}/${tenants.find(({ slug }) => slug === tenant)?.project.slug}`,
  ]
    .filter(Boolean)
    .join(', ')

const peopleTable = (seed: Seed): string =>
  seed.people
    .map((person) => `  ${person.username.padEnd(9)} ${`${person.username}-gatehouse`.padEnd(18)} ${rolesOf(person, seed)}`)
    .join('\n')

/** What a newcomer needs on one screen: where it is, who they may be, and two lines to paste. */
export const summaryOf = ({
  address,
  issuer,
  door,
  stateDir,
  inspectPort,
  watch,
}: {
  address: string
  issuer: string
  door: string
  stateDir: string
  inspectPort: number | undefined
  watch: boolean
}): string => {
  const seed = JSON.parse(readFileSync(join(project, 'db/seed/people.json'), 'utf8')) as Seed
  const form = '-d grant_type=password -d client_id=gatehouse-cli -d username=alice -d password=alice-gatehouse'
  return `
People
  ${'username'.padEnd(9)} ${'password'.padEnd(18)} role
${peopleTable(seed)}

Sign in as alice:
  TOKEN=$(curl -s ${issuer}/token ${form} | sed -E 's/.*"access_token": ?"([^"]+)".*/\\1/')

Ask who you are:
  curl -s -H "Authorization: Bearer $TOKEN" ${address}/api/v1/me

Gatehouse is up at ${address}
  Reference          ${address}/docs
  Identity provider  ${issuer} (development only)
  Door of the nodes  ${door}
  Data and logs      ${stateDir}${inspectPort ? `\n  Inspector          127.0.0.1:${inspectPort} (server only)` : ''}
${watch ? '\nA change under server/src, contract/src or db restarts the server.' : ''}
Ctrl-C stops everything and keeps the data; \`npm run reset\` wipes it.
`
}
