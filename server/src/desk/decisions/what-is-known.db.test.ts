import { createAllocation } from '@gatehouse/contract/allocations'
import { afterEach, describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, project, user } = seeded
const live = serverFixture()
afterEach(() => live.sql('delete from policy_constraints'))

const ask = (person: string, body: object, path = 'decisions') => live.call(person, 'POST', `/api/v1/authz/${path}`, { body })
const decided = async (person: string, body: object) => {
  const { decision, reason_code } = (await ask(person, body)).body
  return reason_code ?? decision
}
const about = (person: string) => ({ actor: { type: 'user', id: user(person) } })
const rule = async (who: string, scope: string, body: object) =>
  expect((await live.call(who, 'POST', `/api/v1${scope}/policies/constraints`, { body })).status).toBe(201)
const inOrganization = `/orgs/${org.aurora}`
const inProject = `/projects/${project.aurora}`

describe('how somebody stands to what is asked about', () => {
  const made = async () => {
    const body = { project_id: project.aurora, name: 'a run', region: 'nowhere', sku: 'h100', gpus: 1 }
    return (await live.ask('asha', createAllocation, { body })).body.id as string
  }
  const manage = (id: string, project_id: string = project.aurora) => ({
    action: 'project.access_grant.manage',
    resource: { type: 'allocation', id, project_id },
  })

  test('DE-02 who owns an allocation may do to it what its own route lets him do, and to no other', async () => {
    const id = await made()
    expect(await decided('asha', manage(id))).toBe('allow')
    expect(await decided('amara', { ...about('asha'), ...manage(id) })).toBe('allow')
    expect(await decided('asha', manage(newId('allocation')))).toBe('permission_denied')
    expect(await decided('asha', { ...manage(id), action: 'allocation.ssh_keys.write' })).toBe('allow')
    expect(await decided('asha', { ...manage(id), action: 'project.role.assign' })).toBe('permission_denied')
    const { body } = await ask('asha', { questions: [manage(id), manage(newId('allocation'))] }, 'decisions/batch')
    expect(body.decisions.map(({ decision }: { decision: string }) => decision)).toEqual(['allow', 'deny'])
  })

  test('DE-19 as soon as he does not own it any more, he may not', async () => {
    const id = await made()
    expect(await decided('asha', manage(id))).toBe('allow')
    await live.sql('update allocations set owner_user_id = $2 where id = $1', [id, user('amara')])
    expect(await decided('asha', manage(id))).toBe('permission_denied')
  })

  test('I5 named in a project that it does not lie in, it is nobody’s', async () => {
    const id = await made()
    await live.sql('update allocations set owner_user_id = $2 where id = $1', [id, user('bella')])
    expect(await decided('bella', manage(id, project.borealis))).toBe(await decided('bella', manage(newId('allocation'), project.borealis)))
  })

  test('DE-02 who was let in may see that and leave, by the allocation and by his own grant, and by no other’s', async () => {
    const id = await made()
    const granted = async (person: string) => {
      const [key, grant] = [newId('ssh_key'), newId('access_grant')]
      await live.sql(
        `insert into ssh_public_keys (id, user_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
         values ($1, $2, 'key', 'ssh-ed25519', 256, repeat('A', 68), 'SHA256:' || repeat('A', 43), now(), 'user', $2)`,
        [key, user(person)],
      )
      await live.sql(
        `insert into allocation_access_grants (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at)
         select $1, $2, $3, $4, $5, epoch, now(), $4, now() from installation`,
        [grant, id, project.aurora, user(person), key],
      )
      return grant
    }
    const [own, others] = [await granted('axel'), await granted('amara')]
    const ownWords = (type: string, of: string, action = 'project.access_grant.revoke_own') => ({
      action,
      resource: { type, id: of, project_id: project.aurora },
    })
    expect(await decided('axel', ownWords('access_grant', own))).toBe('allow')
    expect(await decided('axel', ownWords('access_grant', others))).toBe('permission_denied')
    expect(await decided('axel', ownWords('allocation', id, 'project.access_grant.read_own'))).toBe('allow')
    expect(await decided('axel', ownWords('allocation', newId('allocation'), 'project.access_grant.read_own'))).toBe('permission_denied')
    expect(await decided('axel', ownWords('allocation', own))).toBe('permission_denied')
    expect(await decided('asha', ownWords('access_grant', own, 'project.access_grant.manage'))).toBe('allow')
  })

  test('DE-02 one’s own membership is one’s own', async () => {
    const leave = (person: string) => ({
      action: 'project.member.leave',
      resource: { type: 'project_membership', id: user(person), project_id: project.aurora },
    })
    expect(await decided('asha', leave('asha'))).toBe('allow')
    expect(await decided('asha', leave('amara'))).toBe('permission_denied')
  })
})

test('DE-02 who asks for himself asks from where he is, unless he says otherwise; of others nothing is known', async () => {
  await rule('alice', inProject, {
    key: 'here',
    actions: ['project.ssh_key.read'],
    condition: { not_within: { source_ip: ['127.0.0.0/8'] } },
  })
  const question = { action: 'project.ssh_key.read', resource: { type: 'project', id: project.aurora } }
  expect(await decided('asha', question)).toBe('allow')
  for (const source_ip of ['10.0.0.1', null, 7])
    expect(await decided('asha', { ...question, attributes: { source_ip } })).toBe('policy_constraint_denied')
  expect(await decided('amara', { ...about('asha'), ...question })).toBe('policy_constraint_denied')
})

test('DE-14 which rule denies is told to whoever may read the rules of its scope, also of what he asks for himself', async () => {
  const question = { action: 'storage.read', resource: { type: 'bucket', project_id: project.aurora } }
  const told = async (person: string, asked: object) => {
    const { body } = await ask(person, asked, 'explain')
    expect(body.reason_code).toBe('policy_constraint_denied')
    return [body.decided_by.constraint?.key ?? null, JSON.stringify(body).includes('a-secret')]
  }
  for (const [who, scope, readers, others] of [
    ['alice', inProject, ['amara'], ['asha']],
    ['alice', inOrganization, ['ada'], ['amara', 'asha']],
    ['ada', '/admin', ['ada'], ['amara', 'asha']],
  ] as const) {
    await rule(who, scope, { key: 'a-secret', actions: ['storage.read'], condition: {} })
    for (const reader of readers) expect(await told(reader, { ...about('asha'), ...question })).toEqual(['a-secret', true])
    for (const other of others) expect(await told(other, question)).toEqual([null, false])
    await live.sql('delete from policy_constraints')
  }
})

test('I5 a stranger cannot tell a suspended organization, or an archived project, from one that is not there', async () => {
  const keys = (place: object) => decided('alice', { action: 'me.ssh_key.manage', resource: { type: 'user', id: user('alice'), ...place } })
  const unknown = await keys({ tenant_id: newId('org') })
  await live.sql(`update organizations set state = 'suspended' where id = $1`, [org.borealis])
  expect(await keys({ tenant_id: org.borealis })).toBe(unknown)
  await live.sql(`update organizations set state = 'active' where id = $1`, [org.borealis])
  await live.sql(`update projects set state = 'archived' where id = $1`, [project.borealis])
  expect(await keys({ project_id: project.borealis })).toBe(unknown)
  await live.sql(`update projects set state = 'active' where id = $1`, [project.borealis])
})
