import { expect, test } from 'vitest'
import type { Payer } from '#ground/db/database.ts'
import { sharedPayer } from './shared-payer.ts'

test('M5 issuing: three tokens of one tenant and one of another are written together → each tenant pays for its part', async () => {
  const paid = new Map<string, number>()
  const payerOf = (tenant: string): Payer => {
    const charge = (ms: number) => void paid.set(tenant, (paid.get(tenant) ?? 0) + ms)
    return { charge, chargeStatement: (ms) => charge(ms / 4), each: async (items, make) => items.map(make) }
  }
  const shared = sharedPayer(['noisy', 'quiet', 'noisy', 'noisy'].map((tenant) => [tenant, payerOf(tenant)]))
  shared.charge(8)
  expect(Object.fromEntries(paid)).toEqual({ noisy: 6, quiet: 2 })
  shared.chargeStatement(16)
  expect(Object.fromEntries(paid)).toEqual({ noisy: 9, quiet: 3 })
  expect(await shared.each([1, 2], (n) => n * 2)).toEqual([2, 4])
})
