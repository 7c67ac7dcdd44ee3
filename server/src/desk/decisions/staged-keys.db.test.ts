import { decide } from '@gatehouse/contract/decisions'
import { expect, test } from 'vitest'
import { actions } from '#rails/authz/actions.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { stagedKeys } from './staged-keys.ts'

const { org, project } = seeded
const live = serverFixture()

/** Where a key of each tier is asked about, who has it there by a built-in role, and who belongs there and does not. */
const asked = {
  tenant: { resource: { type: 'organization', id: org.aurora }, holder: 'abel', other: 'asha' },
  project: { resource: { type: 'project', id: project.aurora }, holder: 'amara', other: 'bella' },
} as const

test.each(Object.keys(stagedKeys) as (keyof typeof stagedKeys)[])(
  'RP-32 %s: no operation asks about it → the decision API answers, by the roles that hold it',
  async (action) => {
    const { resource, holder, other } = asked[actions[action].tier as keyof typeof asked]
    const decided = async (person: string) => (await live.ask(person, decide, { body: { action, resource } })).body.decision
    expect([await decided(holder), await decided(other)]).toEqual(['allow', 'deny'])
  },
)
