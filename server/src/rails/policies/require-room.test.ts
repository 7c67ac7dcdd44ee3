import { expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import { requireRoom } from './require-room.ts'

const policy = 'auth.service_account_max_keys'
const inTraining = { tenant_id: 'aurora', project_id: 'training' }

/** Of a platform that lets there be three, and a tenant that may be asked for two. */
const reader = {
  many: async <Row>({ values, parse }: Statement<Row>) => {
    const two = { scope_type: 'tenant', value: 2 }
    return [{ scope_type: 'global', value: 3 }, ...(values.includes('aurora') ? [two] : [])].map(parse)
  },
}
const refusal = { code: 'limit_reached', details: { policy, limit: 3 } }

test('TI-06 there is room for the last that policy allows, and for none after it', async () => {
  await requireRoom(reader, policy, 2)
  await expect(requireRoom(reader, policy, 3)).rejects.toMatchObject(refusal)
  // More than there may be, since it was more before.
  await expect(requireRoom(reader, policy, 4)).rejects.toMatchObject(refusal)
})

test('DE-20 the limit is that of the place', async () => {
  await requireRoom(reader, policy, 1, inTraining)
  await expect(requireRoom(reader, policy, 2, inTraining)).rejects.toMatchObject({ details: { policy, limit: 2 } })
})
