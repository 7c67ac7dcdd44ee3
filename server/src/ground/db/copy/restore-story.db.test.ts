import { join } from 'node:path'
import { removeOrganizationMember } from '@gatehouse/contract/members'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { disableUser } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { appendWith } from '#rails/audit/append.ts'
import { fixture } from '../../../../../test/fixture.ts'
import { seeded, serverFixture, testKeys } from '../../../../../test/live-server.ts'
import { databaseFixture } from '../../../../../test/postgres.ts'
import { restoreInto } from '../../../../../test/restore-targets.ts'
import { asSuperuser } from '../../../../../test/superuser.ts'
import { temporaryFolder } from '../../../../../test/temporary-folder.ts'
import { unhurried } from '../../../../../test/unhurried.ts'
import { parseKeyRing } from '../../custody/key-ring.ts'
import { acceptRestore } from '../../installation/accept-restore.ts'
import { checkpointKey } from '../../installation/checkpoint.ts'
import { checkpointFile } from '../../installation/checkpoint-file.ts'
import { checkpointLog } from '../../installation/checkpoint-log.ts'
import { behindCheckpoints } from '../../installation/compare-heads.ts'
import { auditKey, ownSecret } from '../../installation/own-secrets.ts'
import { verifyRecord } from '../../installation/verify-record.ts'
import { writeCheckpoint } from '../../installation/write-checkpoint.ts'
import { type Database, openDatabase } from '../database.ts'
import { backup } from './backup.ts'

const { org, user } = seeded
const ring = parseKeyRing(testKeys)
const folder = temporaryFolder('story')
const live = serverFixture()
const target = databaseFixture()
const restored = fixture(
  () => openDatabase({ url: target.appUrl, ...unhurried.database }),
  (opened) => opened.close(),
)

/** The checkpoints, as whoever has this database opens them: the key is sealed in it, the file is outside. */
const checkpointsOf = async (database: Database) => {
  const key = checkpointKey(await ownSecret(database, ring, 'checkpoint_key'))
  const store = checkpointFile(join(folder, 'checkpoints.jsonl'))
  const verify = async () => verifyRecord(database, await auditKey(database, ring), store, key)
  return { log: checkpointLog(store, key), verify }
}
const standing = async (url: string) =>
  asSuperuser(url, async (client) => {
    const member = `select from tenant_memberships where tenant_id = $1 and user_id = $2 and deleted_at is null`
    const disabled = 'select from users where id = $1 and disabled_at is not null'
    return {
      is_member: (await client.query(member, [org.aurora, user('adam')])).rowCount === 1,
      is_disabled: (await client.query(disabled, [user('bella')])).rowCount === 1,
    }
  })

test('HO-08 J10 yesterday’s backup is not believed until it is accepted, and then begins a new epoch', async () => {
  // Yesterday: work, a checkpoint, a backup.
  const rename = (name: string) => live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, body: { name } })
  expect((await rename('Yesterday')).status).toBe(200)
  const { log, verify: verifyLive } = await checkpointsOf(live.database)
  expect(await writeCheckpoint(live.database, log)).toBe(1)
  const from = join(folder, 'backup')
  const made = await backup({ ownerUrl: live.clone.ownerUrl, to: from })

  // Today: a member is removed, a user disabled, and the next checkpoint remembers it.
  expect(
    (await live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: user('adam') }, body: {} })).status,
  ).toBe(204)
  expect((await live.ask('ada', disableUser, { params: { user_id: user('bella') }, body: { reason: 'left' } })).status).toBe(200)
  expect(await writeCheckpoint(live.database, log)).toBe(2)
  expect((await verifyLive()).faults).toEqual([])
  expect(await standing(live.clone.ownerUrl)).toEqual({ is_member: false, is_disabled: true })

  // The disk is lost. A new database gets the backup, and what ended today is there again.
  expect(await restoreInto(target, from)).toMatchObject({
    installation_id: made.installation_id,
    epoch: 1,
  })
  expect(await standing(target.ownerUrl)).toEqual({ is_member: true, is_disabled: false })

  // So a server does not start on it, and verification says what is gone.
  const past = await checkpointsOf(restored)
  expect(await behindCheckpoints(restored, past.log)).toBe('it was restored from a backup')
  // Even without that mark the checkpoints would know.
  await asSuperuser(target.ownerUrl, (client) => client.query('update installation set is_restored = false'))
  expect(await behindCheckpoints(restored, past.log)).toContain('is not the one that a signed checkpoint remembers')
  expect((await past.verify()).faults.map(({ kind, tenant_id }) => [kind, tenant_id])).toEqual(
    expect.arrayContaining([['cut', org.aurora]]),
  )

  // An operator accepts it: a new epoch, in the record and in the checkpoints.
  const append = appendWith({ region: 'test', key: await auditKey(restored, ring) })
  expect(await acceptRestore(restored, past.log, append, 'disk lost')).toBe(2)
  expect(await behindCheckpoints(restored, past.log)).toBeNull()
  const rows = await asSuperuser(target.ownerUrl, async (client) => {
    const { rows: installation } = await client.query('select id, epoch from installation')
    const { rows: accepted } = await client.query(`select severity, metadata from audit_logs where action = 'installation.restore.accept'`)
    return { installation, accepted }
  })
  expect(rows.installation).toEqual([{ id: made.installation_id, epoch: 2 }])
  expect(rows.accepted).toMatchObject([{ severity: 'high', metadata: { epoch: 2, reason: 'disk lost', found: expect.any(String) } }])
  expect(await past.verify()).toMatchObject({ faults: [], checkpoints: 3 })

  // People's standing is what it was yesterday: the operator has to end again what ended since.
  expect(await standing(target.ownerUrl)).toEqual({ is_member: true, is_disabled: false })
  // The lost database, should it turn up, is not believed any more.
  expect(await behindCheckpoints(live.database, (await checkpointsOf(live.database)).log)).not.toBeNull()
})
