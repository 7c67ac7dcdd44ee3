import { createOrganization } from '@gatehouse/contract/organizations'
import { createProject } from '@gatehouse/contract/projects'
import { disableBuiltinRole, enableBuiltinRole } from '@gatehouse/contract/roles'
import { readMe } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { fixedId } from '#ground/kernel/ids.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, user } = seeded
const live = serverFixture()
const refused = { status: 409, body: { code: 'role_not_assignable', details: { state: 'disabled' } } }

const whileDisabled = async (name: string, act: () => Promise<void>) => {
  const params = { role_id: fixedId('role', name) }
  const disabled = await live.ask('ada', disableBuiltinRole, { params, body: { mode: 'block_all_now', reason: 'r' } })
  expect(disabled.status).toBe(200)
  await act()
  expect((await live.ask('ada', enableBuiltinRole, { params, body: { reason: 'r' } })).status).toBe(200)
}
const founding = (slug: string) =>
  live.ask('ada', createOrganization, { body: { name: slug, slug, owner_user_id: user('anna'), reason: 'r' } })
const opening = (slug: string) =>
  live.ask('ada', createProject, { params: { org_id: org.aurora }, body: { name: slug, slug, owner_user_id: user('anna'), reason: 'r' } })

test('RP-13 organization.create: owner role disabled → 409 role_not_assignable, and nothing is founded', async () => {
  await whileDisabled('tenant_owner', async () => {
    expect(await founding('unowned')).toMatchObject(refused)
    expect(await live.sql(`select from organizations where slug = 'unowned'`)).toEqual([])
    expect((await opening('owned-as-ever')).status).toBe(201)
  })
  expect((await founding('unowned')).status).toBe(201)
})

test('RP-13 project.create: owner role disabled → 409 role_not_assignable, and nothing is founded', async () => {
  await whileDisabled('project_owner', async () => {
    expect(await opening('unowned')).toMatchObject(refused)
    expect(await live.sql(`select from projects where slug = 'unowned'`)).toEqual([])
    expect((await founding('owned-as-ever')).status).toBe(201)
  })
  expect((await opening('unowned')).status).toBe(201)
})

test.each(['tenant_owner', 'project_owner'])(
  'RP-13 HO-06 first sign-in: %s disabled → the person is made, and no organization',
  async (name) => {
    const subject = `newcomer-${name}`
    await whileDisabled(name, async () => {
      const me = await live.ask(subject, readMe)
      expect(me).toMatchObject({ status: 200, body: { username: subject, organizations: [] } })
      expect(
        await live.sql(`select metadata ->> 'personal_organization' as why from audit_logs where resource_id = $1`, [me.body.id]),
      ).toEqual([{ why: 'role_not_assignable' }])
    })
    expect(await live.ask(subject, readMe)).toMatchObject({ status: 200, body: { organizations: [] } })
  },
)
