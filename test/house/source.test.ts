import { expect, test } from 'vitest'
import { roomFolders } from '../../tools/generate/room-folders.ts'
import { filesUnder, isTest, matchesOf, textOf } from './tree.ts'

const code = (folder: string) => filesUnder(folder).filter((path) => /\.[cm]?tsx?$/.test(path) && !isTest(path))
const product = ['contract/src', 'server/src'].flatMap(code)

const readsEnvironment = (path: string) => ['config', 'main', 'process/operate'].some((name) => path === `server/src/${name}.ts`)

test('only the composition root and its configuration read the environment', () => {
  expect(
    matchesOf(
      product.filter((path) => !readsEnvironment(path)),
      /\bprocess\s*\.\s*env\b|\bfrom 'node:process'/,
    ),
  ).toEqual([])
})

const roleNames = [
  ...['superadmin', 'ops', 'user'].map((name) => `platform_${name}`),
  ...['owner', 'admin', 'member', 'billing_manager', 'billing_viewer', 'viewer'].map((name) => `tenant_${name}`),
  ...['owner', 'admin', 'member', 'viewer'].map((name) => `project_${name}`),
]
// A role's name as a whole word: `project_member_id` or `project_membership` is another word.
const aRoleName = new RegExp(`(?<![\\w-])(?:${roleNames.join('|')})(?![\\w-])`)
/** All that runs or is run by something, in whichever language: tests, cases of tests and docs say who may what, and must name roles. */
const asksForPermissions = ['contract', 'server', 'idp', 'agent', 'examples', 'tools', 'db', 'scripts', '.ci']
  .flatMap(filesUnder)
  .filter((path) => !isTest(path) && !/\.(?:md|wasm)$/.test(path))
const mayNameRoles = new Map([
  ['server/src/rails/authz/catalogue.ts', 'the role catalogue itself: whoever means the owner role of a tier asks it'],
  ['server/src/rails/http/examples.json', 'answers that were recorded in a seeded world, shown in the OpenAPI document'],
  ['db/seed/people.json', 'seed data: who has which role in a development world'],
  [
    'db/migrations/0009-role-lifecycle.sql',
    'history: a database that has run it refuses every other text, and the role was called so when it ran',
  ],
])

test('RP-05 nothing outside the role catalogue and the seeds names a role, in whichever language', () => {
  const naming = matchesOf(asksForPermissions, aRoleName)
  const isOf = (path: string) => (found: string) => found.startsWith(`${path}:`)
  expect(naming.filter((found) => ![...mayNameRoles.keys()].some((path) => isOf(path)(found)))).toEqual([])
  // An exception that nobody needs would hide something one day.
  expect([...mayNameRoles.keys()].filter((path) => !naming.some(isOf(path)))).toEqual([])
})

test('the search for role names reads what is no TypeScript', () => {
  const kinds = new Set(asksForPermissions.map((path) => path.slice(path.lastIndexOf('.'))))
  expect(['.ts', '.mjs', '.sql', '.sh', '.json', '.service'].filter((kind) => !kinds.has(kind))).toEqual([])
  expect(aRoleName.test("update users set role = 'admin' where d.name = 'platform_superadmin';")).toBe(true)
  expect(aRoleName.test('exec scripts/ops/bind_platform_role.sh --role=platform_ops "$@"')).toBe(true)
})

test('the search for role names finds one where one is', () => {
  expect(aRoleName.test("if (role === 'tenant_owner') return true")).toBe(true)
  expect(aRoleName.test('select project_member_id from project_members')).toBe(false)
})

test('SQL stands in query files and nowhere else', () => {
  const files = code('server/src').filter((path) => !path.endsWith('-queries.ts') && path !== 'server/src/ground/db/statement.ts')
  expect(matchesOf(files, /(?<![.\w])sql(?:<[^>]*>)?(?:\([^`]*\))?\s*`/)).toEqual([])
})

test('every table says which room owns it, and that room exists', () => {
  const faults = filesUnder('db/migrations')
    .filter((path) => path.endsWith('.sql'))
    .flatMap((path) => {
      const lines = textOf(path).split('\n')
      return lines.flatMap((line, index) => {
        if (!/^\s*create\s+(?:unlogged\s+)?table\b/i.test(line)) return []
        const room = /^-- room: ([\w-]+)$/.exec(lines[index - 1] ?? '')?.[1]
        return room !== undefined && roomFolders.has(room) ? [] : [`${path}:${index + 1} ${line.trim()}`]
      })
    })
  expect(faults).toEqual([])
})

// A later migration may say that a table has moved: `-- room: audit takes audit_logs`.
const ownerOf = new Map(
  filesUnder('db/migrations').flatMap((path) =>
    [...textOf(path).matchAll(/^-- room: ([\w-]+)(?:\ncreate table| takes) (\w+)/gm)].map(([, room, table]) => [table!, room!] as const),
  ),
)
const written = /\b(?:insert\s+into|update|delete\s+from|truncate)\s+([a-z_]+)/g
// A restore replaces all rows of all rooms, and marks the whole as restored.
const mayWriteAll = (path: string) => path.startsWith('server/src/ground/db/copy/')

/** What a file writes that another room owns. */
const foreignWrites = (path: string, text: string): string[] => {
  const room = path.split('/')[3]
  return [...text.matchAll(written)].flatMap(([, table]) => {
    const owner = ownerOf.get(table!)
    return owner === undefined || owner === room ? [] : [`${path} writes ${table}, which ${owner} owns`]
  })
}

test('only the room that owns a table writes it', () => {
  const files = code('server/src').filter((path) => !mayWriteAll(path))
  expect(files.flatMap((path) => foreignWrites(path, textOf(path)))).toEqual([])
  expect(foreignWrites('server/src/rails/http/x.ts', 'update users set role = 1')).toEqual([
    'server/src/rails/http/x.ts writes users, which principals owns',
  ])
})

test('the product’s own proof is made only where the product itself acts', () => {
  const makers = code('server/src').filter((path) => /\bsystemProof\(/.test(textOf(path)))
  expect(makers).toEqual([
    'server/src/desk/policy-admin/set-policy-value-by-order.ts',
    'server/src/fleet/access-grants/end-access.ts',
    'server/src/fleet/access-grants/follow-set.ts',
    'server/src/fleet/access-grants/tend-access.ts',
    'server/src/fleet/allocations/ask-again.ts',
    'server/src/fleet/allocations/end-key-entries.ts',
    'server/src/fleet/allocations/end-ownership.ts',
    'server/src/fleet/allocations/node-described.ts',
    'server/src/fleet/allocations/node-retired.ts',
    'server/src/fleet/allocations/place-allocation.ts',
    'server/src/fleet/allocations/sync-access.ts',
    'server/src/fleet/allocations/task-finished.ts',
    'server/src/fleet/allocations/terms-changed.ts',
    'server/src/fleet/node-tasks/tend-tasks.ts',
    'server/src/fleet/task-signers/tend-signers.ts',
    'server/src/machines/keys/tend-keys.ts',
    'server/src/machines/tokens/end-with-scope.ts',
    'server/src/people/invitations/end-with-membership.ts',
    'server/src/people/invitations/end-with-role.ts',
    'server/src/people/principals/first-sign-in.ts',
    'server/src/people/principals/stated-address.ts',
    'server/src/people/roles/end-bindings.ts',
    'server/src/people/roles/found-owners.ts',
    'server/src/people/roles/platform-operator.ts',
    'server/src/people/tenancy/found-organization.ts',
    'server/src/people/tenancy/found-project.ts',
    'server/src/process/seed-development.ts',
  ])
})
