import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createProjectBinding, endProjectBinding } from '@gatehouse/contract/role-bindings'
import { createProjectRole, deleteProjectRole, updateProjectRole } from '@gatehouse/contract/roles'
import { expect, inject, test } from 'vitest'
import { seeded, serverFixture } from '../../../../../test/live-server.ts'
import { restoreInto, restoreTargets } from '../../../../../test/restore-targets.ts'
import { serviceAccountsOn } from '../../../../../test/service-account-scene.ts'
import { asSuperuser } from '../../../../../test/superuser.ts'
import { temporaryFolder } from '../../../../../test/temporary-folder.ts'
import { backup } from './backup.ts'
import { parseHeader } from './backup-format.ts'
import { CopyRefused } from './copy-refused.ts'
import { keptFile } from './kept-file.ts'
import { asOwner } from './owner-session.ts'
import { proveBackup } from './prove-backup.ts'
import { withBackup } from './read-backup.ts'
import { tablePrints } from './testing/table-prints.ts'

const folder = temporaryFolder('prove')
const live = serverFixture()
const { fresh } = restoreTargets()
const asRoot = (clone: { ownerUrl: string }, text: string) => asSuperuser(clone.ownerUrl, (client) => client.query(text))

const params = { project_id: seeded.project.aurora }
const reason = 'because'
const role = async (permissions = ['storage.read'], for_accounts = false) => {
  const body = { name: `r-${randomBytes(6).toString('hex')}`, permissions, is_assignable_to_service_accounts: for_accounts, reason }
  const made = await live.ask('amara', createProjectRole, { params, body })
  expect(made.status, made.text).toBe(201)
  return made.body.id
}
const bind = async (principal_type: 'user' | 'service_account', principal_id: string, role_id: string) => {
  const made = await live.ask('amara', createProjectBinding, { params, body: { principal_type, principal_id, role_id, reason } })
  expect(made.status, made.text).toBe(201)
  return made.body.id
}
const remove = async (role_id: string) =>
  expect((await live.ask('amara', deleteProjectRole, { params: { ...params, role_id }, body: { reason } })).status).toBe(204)

test('HO-09 restore: bindings of roles that have changed since → every row as it was', async () => {
  const { user } = seeded
  const past = await role()
  const binding_id = await bind('user', user('axel'), past)
  expect((await live.ask('amara', endProjectBinding, { params: { ...params, binding_id }, body: { reason } })).status).toBe(204)
  await remove(past)
  // Bound still, though the role has ended, or is no longer one for service accounts.
  const gone = await role()
  await bind('user', user('axel'), gone)
  await remove(gone)
  const narrowed = await role(['storage.read'], true)
  await bind('service_account', await serviceAccountsOn(live).make(), narrowed)
  const body = { is_assignable_to_service_accounts: false, expected_version: 1, reason }
  expect((await live.ask('amara', updateProjectRole, { params: { ...params, role_id: narrowed }, body })).status).toBe(200)

  const before = await tablePrints(live.clone.ownerUrl)
  const target = await fresh()
  await backup({ ownerUrl: live.clone.ownerUrl, to: join(folder, 'changed') })
  await restoreInto(target, join(folder, 'changed'))
  expect(await tablePrints(target.ownerUrl)).toEqual(before)
  // The triggers are on again, and judge what is given from now on.
  const given = `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
                 select gen_random_uuid(), project_id, 'user', '${user('alice')}', current_version_id, now() from role_definitions where id = '${gone}'`
  await expect(asRoot(target, given)).rejects.toThrow('the role has ended')
  const off = `select tgname from pg_trigger where not tgisinternal and tgenabled <> 'O'`
  expect((await asRoot(target, off)).rows).toEqual([])
})

const rootUrl = ({ ownerUrl }: { ownerUrl: string }) =>
  Object.assign(new URL(inject('postgres').superuserUrl), { pathname: new URL(ownerUrl).pathname }).href

test.each([
  [
    'a row that breaks a check of its table',
    `alter table organizations drop constraint organizations_end_whole;
     update organizations set delete_reason = 'half';
     alter table organizations add constraint organizations_end_whole check (num_nulls(deleted_at, deleted_by, delete_reason) in (0, 3)) not valid`,
    'organizations_end_whole is violated',
  ],
  [
    'a row that refers to nothing',
    `set session_replication_role = replica; update projects set org_id = gen_random_uuid()`,
    'projects_org_id_fkey is violated',
  ],
])('HO-09 backup: %s → not called good, kept under another name', async (what, spoil, cause) => {
  const spoilt = await fresh()
  await asSuperuser(rootUrl(spoilt), async (client) => {
    await client.query(
      `insert into organizations (id, type, name, slug, created_at) values (gen_random_uuid(), 'enterprise', 'n', 'n', now())`,
    )
    await client.query(
      `insert into projects (id, org_id, name, slug, created_at) select gen_random_uuid(), id, 'p', 'p', now() from organizations`,
    )
    // One by one: an alteration waits for no trigger of the same transaction.
    for (const step of spoil.split(';')) await client.query(step)
  })
  const to = join(folder, what.replaceAll(' ', '-'))
  await expect(backup({ ownerUrl: spoilt.ownerUrl, to })).rejects.toThrow(cause)
  expect([existsSync(to), existsSync(`${to}.unproved`)]).toEqual([false, true])
  // What it says is true: the file does not restore.
  await expect(restoreInto(await fresh(), `${to}.unproved`)).rejects.toThrow(cause)
})

test('HO-09 backup: a role without temporary tables → says so', async () => {
  const source = await fresh()
  const { database, role: owner } = { database: new URL(source.ownerUrl).pathname.slice(1), role: inject('postgres').owner.role }
  await asSuperuser(rootUrl(source), (client) => client.query(`alter database ${database} owner to current_user`))
  await asSuperuser(rootUrl(source), (client) => client.query(`revoke temporary on database ${database} from public, ${owner}`))
  await expect(backup({ ownerUrl: source.ownerUrl, to: join(folder, 'no-temp') })).rejects.toThrow('may not create temporary tables')
})

test('HO-09 backup: a file that changes on the disk before it is proved → not called good', async () => {
  const source = await readFile(join(folder, 'changed'))
  const header = await withBackup(join(folder, 'changed'), async (read) => parseHeader(await read.line()))
  const kept = keptFile(
    join(folder, 'flipped'),
    (destination) => pipeline([source], destination),
    async (from) => {
      const file = await open(from, 'r+')
      await file.write(Buffer.from([source[200]! ^ 1]), 0, 1, 200).finally(() => file.close())
      await asOwner(live.clone.ownerUrl, 'gatehouse-test', (session) =>
        proveBackup(session, { ownerUrl: live.clone.ownerUrl, from, header, tables: [] }),
      )
    },
  )
  await expect(kept).rejects.toBeInstanceOf(CopyRefused)
  await expect(kept).rejects.toThrow('do not have the hash')
})
