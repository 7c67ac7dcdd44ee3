import { describe, expect, test } from 'vitest'
import type { Reader } from '#ground/db/database.ts'
import type { Statement } from '#ground/db/statement.ts'
import type { Actor } from '#ground/work/work.ts'
import { permissionsOf } from './catalogue.ts'
import { readStandingsOf, type StandingKey, standings, wantStanding } from './read-standings.ts'
import { heldAt, type Standing, standingOf, strangerRow } from './standing.ts'
import { boundRole } from './testing/bound-role.ts'

type Reading = (reader: Pick<Reader, 'many'>, keys: readonly StandingKey[]) => Promise<readonly (Standing | undefined)[]>
const now = '2026-11-16T12:00:00.000Z'

describe('how machines are read', () => {
  const key = { actor_id: 'x', tenant_id: 't', project_id: 'p' }
  const elsewhere = { actor_id: 'gone', tenant_id: 'elsewhere', project_id: null }
  const ofOperator = {
    ...{ actor_id: 'x', home_tenant_id: 't', tenant_state: 'active', project_state: null, is_disabled: false },
    ...{ is_live: true, is_attached: false, is_eligible: false, delegated_actions: [] },
  }
  /** Each kind, the table it is in, and what is found of the second key there. */
  const kinds = [
    ['service_account', 'join service_accounts s', { n: 2, ...strangerRow('x'), home_tenant_id: 't', home_project_id: 'p' }],
    ['shared_runtime_operator', 'join shared_app_runtimes r', { n: 2, ...ofOperator }],
    ['node_agent', 'from nodes', { id: 'x' }],
  ] as const
  type MachineType = Exclude<Actor['type'], 'user'>
  const read = async (type: MachineType, by: Reading = (reader, keys) => readStandingsOf(reader, type, keys)) => {
    const asked: Pick<Statement<unknown>, 'text' | 'values'>[] = []
    const many = async <Row>({ text, values, parse }: Statement<Row>) => {
      asked.push({ text, values })
      return [kinds.find(([kind]) => kind === type)![2]].map(parse)
    }
    return { found: await by({ many }, [elsewhere, key]), asked }
  }

  test.each(kinds)('DE-19 a %s is read from its own table, by its own id, in the order of the keys', async (type, table) => {
    const { found, asked } = await read(type)
    expect([found.length, found[0], found[1]?.actor_id]).toEqual([2, undefined, 'x'])
    expect(asked).toHaveLength(1)
    expect(asked[0]!.text).toContain(table)
    const places =
      type === 'node_agent'
        ? []
        : [
            ['elsewhere', 't'],
            [null, 'p'],
          ]
    expect(asked[0]!.values).toEqual([['gone', 'x'], ...places])
  })

  test('TI-25 MI-02 SG-16 each is bound to its home, and to nothing of the platform', async () => {
    const bounds = { tenant_id: null, project_id: null, actions: null }
    const homes = [{ ...bounds, tenant_id: 't', project_id: 'p' }, { ...bounds, tenant_id: 't', shared_runtime_id: 'x' }, bounds]
    for (const [index, [type]] of kinds.entries()) {
      const standing = (await read(type)).found[1]!
      const { home, platform_roles, platform_mismatch } = standing
      expect([type, home]).toEqual([type, homes[index]])
      expect([type, platform_roles, platform_mismatch, heldAt(standing, now).platform_role]).toEqual([type, [], null, 'platform_user'])
    }
  })

  test('DE-05 of any other nothing is read', async () => {
    for (const type of ['workload', 'platform_operator', 'system'] as const)
      expect(await read(type)).toEqual({ found: [undefined, undefined], asked: [] })
  })

  test('DE-19 each is kept under another name than a person of the same id', () => {
    const types = ['user', 'service_account', 'shared_runtime_operator'] as const
    expect(types.map((type) => wantStanding(type, key).id)).toEqual([
      'standing x t p',
      'service account standing x t p',
      'operator standing x t p',
    ])
  })

  test('DE-05 who has no standing to be kept is not taken for a person of the same id', async () => {
    for (const type of ['node_agent', 'workload', 'platform_operator', 'system'] as const) {
      const { id, tenant_id, source } = wantStanding(type, key)
      expect([id, tenant_id]).toEqual(['no standing x t p', 't'])
      const loaded = await read(type, (reader, keys) => source.load(reader as never, keys as never))
      expect(loaded).toEqual({ found: [undefined, undefined], asked: [] })
    }
  })

  test.each(['service_account', 'shared_runtime_operator'] as const)(
    'DE-19 what is asked of a %s away from its home is read each time: it may be disabled there unnoticed',
    async (type) => {
      const { source } = wantStanding(type, key)
      const { found, asked } = await read(type, (reader, keys) => source.load(reader as never, keys as never))
      expect(asked).toEqual((await read(type)).asked)
      const told = (tenant_id: string | null, of = found[1]!) => source.isToldByEpoch!({ ...key, tenant_id } as never, of)
      expect([told('t'), told('elsewhere'), told(null), told('t', standingOf(strangerRow('x')))]).toEqual([true, false, false, false])
    },
  )
})

describe('how standings are read', () => {
  const keys = [
    { actor_id: 'alice', tenant_id: 'aurora', project_id: 'training' },
    { actor_id: 'nora', tenant_id: null, project_id: null },
    { actor_id: 'bella', tenant_id: 'borealis', project_id: null },
  ]

  test('DE-19 they come in the order of the keys, whatever the order of the rows, and nobody stands for somebody unknown', async () => {
    const asked: unknown[] = []
    const reader = {
      many: async <Row>({ values, parse }: Statement<Row>) => {
        asked.push(values.slice(-3))
        return [
          { n: 3, ...strangerRow('bella') },
          { n: 1, ...strangerRow('alice'), tenant_roles: [boundRole('tenant_viewer')] },
        ].map(parse)
      },
    }
    const people: Reading = (from, those) => readStandingsOf(from, 'user', those)
    for (const read of [people, standings.load as Reading]) {
      const [alice, nora, bella, ...more] = await read(reader, keys)
      expect([alice?.actor_id, nora, bella?.actor_id, more]).toEqual(['alice', undefined, 'bella', []])
      expect(alice).not.toHaveProperty('n')
      expect(heldAt(alice!, now).tenant.allowed).toEqual(permissionsOf('tenant_viewer'))
    }
    const columns = [
      ['alice', 'nora', 'bella'],
      ['aurora', null, 'borealis'],
      ['training', null, null],
    ]
    expect(asked).toEqual([columns, columns])
  })

  test('DE-19 one is kept under its person and place, and changes in the epoch of its tenant', () => {
    expect(standings.name).toBe('standing')
    expect(keys.map(standings.textOf)).toEqual(['alice aurora training', 'nora null null', 'bella borealis null'])
    expect(keys.map(standings.tenantOf)).toEqual(['aurora', null, 'borealis'])
  })
})
