import { disableUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { crowd } from '../../../../test/crowd.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'
import { tendAccess } from './tend-access.ts'

const { project, user } = seeded
const live = serverFixture()
const stage = stageFixture(live)

describe('two people with the same key', () => {
  test('SG-06 SG-12 revoke: another grant holds the same key → the answer, the record and the node say that it stays in force', async () => {
    const line = newKeyLine()
    const [axels, aldos] = [await stage.key('axel', line), await stage.key('aldo', line)]
    expect(axels.fingerprint).toBe(aldos.fingerprint)
    const { id } = await stage.allocation('asha')
    const [first, second] = [await stage.granted('asha', id, 'axel', axels), await stage.granted('asha', id, 'aldo', aldos)]
    const besides = [{ grant_id: second.id, ssh_key_id: aldos.id, user_id: user('aldo') }]

    const revoked = await stage.revoke('asha', id, first.id)
    expect([revoked.status, revoked.body]).toEqual([
      200,
      expect.objectContaining({ id: first.id, end_cause: 'revoked', key_stays_in_force: true, key_in_force_through: besides }),
    ])
    const [row] = await stage.recordOf('allocation.access_grant.revoke', first.id)
    expect(row!.metadata).toMatchObject({ key_in_force_through: besides })
    await stage.model.settle()
    expect(stage.onNode(id)).toContain(axels.fingerprint)

    const last = await stage.revoke('asha', id, second.id)
    expect(last.body).toMatchObject({ key_stays_in_force: false, key_in_force_through: [] })
    expect((await stage.recordOf('allocation.access_grant.revoke', second.id))[0]!.metadata).not.toHaveProperty('key_in_force_through')
    await stage.model.settle()
    expect(stage.onNode(id)).not.toContain(axels.fingerprint)
  })

  test('SG-06 revoke: the allocation itself has the same key → it says so, without a grant', async () => {
    const line = newKeyLine()
    const [own, axels] = [await stage.key('asha', line), await stage.key('axel', line)]
    const { id } = await stage.allocation('asha', [own])
    const grant = await stage.granted('asha', id, 'axel', axels)
    expect((await stage.revoke('asha', id, grant.id)).body).toMatchObject({
      key_stays_in_force: true,
      key_in_force_through: [{ grant_id: null, ssh_key_id: own.id, user_id: user('asha') }],
    })
  })

  test('SG-06 AU-05 revoke of one’s own: the caller may not see other grants → told that the key stays, and not through whom', async () => {
    const line = newKeyLine()
    const [axels, ashas] = [await stage.key('axel', line), await stage.key('asha', line)]
    const { id } = await stage.allocation('aldo')
    const [his] = [await stage.granted('aldo', id, 'axel', axels), await stage.granted('aldo', id, 'asha', ashas)]
    expect((await stage.revoke('axel', id, his.id)).body).toMatchObject({ key_stays_in_force: true, key_in_force_through: null })
  })
})

describe('the end of an expired grant', () => {
  const later = () => new Date(Date.now() + 3600_000).toISOString()
  /** Its time was over a second ago, and nobody was told. */
  const runOut = async (grant_id: string): Promise<string> => {
    const [row] = await live.sql<{ expires_at: Date }>(
      `update allocation_access_grants set expires_at = date_trunc('milliseconds', clock_timestamp()) - interval '1 second'
        where id = $1 returning expires_at`,
      [grant_id],
    )
    return row!.expires_at.toISOString()
  }
  const expiring = async (grantee = 'axel', by = grantee) => {
    const { id } = await stage.allocation('asha')
    const grant = await stage.granted('asha', id, grantee, await stage.key(by), { expires_at: later() })
    return { id, grant, expires_at: await runOut(grant.id) }
  }
  const expired = (expires_at: string) => ({ end_cause: 'expired', ended_at: expires_at, ended_by: null })

  test('SG-11 tending: the job comes late → `ended_at` stays `expires_at`', async () => {
    const { id, grant, expires_at } = await expiring()
    expect(await stage.seen(id, grant.id)).toMatchObject(expired(expires_at))
    const { database, append, tasking } = await live.replica()
    expect(await tendAccess({ database, append, signing: tasking.tasks.signing })).toBe(1)
    expect(await stage.seen(id, grant.id)).toMatchObject(expired(expires_at))
  })

  test('SG-11 revoke: its time was over before → it has ended by itself, then, and is not claimed as revoked', async () => {
    const { id, grant, expires_at } = await expiring()
    const answered = await stage.revoke('asha', id, grant.id)
    expect([answered.status, answered.body]).toEqual([200, expect.objectContaining(expired(expires_at))])
    const [row, ...more] = await stage.recordOf('allocation.access_grant.revoke', grant.id)
    expect([row!.metadata.cause, more]).toEqual(['expired', []])
  })

  test('SG-11 cascade: the person is disabled after the end → `ended_at` stays `expires_at`', async () => {
    const [person] = await crowd(live, 1)
    await live.sql(
      `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
       select gen_random_uuid(), $1, 'user', $2, current_version_id, now() from role_definitions where name = 'project_member' and is_builtin`,
      [project.aurora, person!.id],
    )
    const { id, grant, expires_at } = await expiring(person!.id, person!.subject)
    expect((await live.ask('ada', disableUser, { params: { user_id: person!.id }, body: { reason: 'gone' } })).status).toBe(200)
    expect(await stage.seen(id, grant.id)).toMatchObject(expired(expires_at))
  })
})
