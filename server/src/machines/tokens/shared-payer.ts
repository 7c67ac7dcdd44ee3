import type { Payer } from '#ground/db/database.ts'

/** What several tenants have done in one transaction, each pays for by its part of it. */
export const sharedPayer = (parts: readonly (readonly [tenant: string | null, payer: Payer])[]): Payer => {
  const of_tenant = new Map<string | null, { readonly payer: Payer; count: number }>()
  for (const [tenant, payer] of parts) {
    const known = of_tenant.get(tenant)
    if (known) known.count += 1
    else of_tenant.set(tenant, { payer, count: 1 })
  }
  const divided = (charge: (payer: Payer, ms: number) => void) => (ms: number) => {
    for (const { payer, count } of of_tenant.values()) charge(payer, (ms * count) / parts.length)
  }
  return {
    charge: divided((payer, ms) => payer.charge(ms)),
    chargeStatement: divided((payer, ms) => payer.chargeStatement(ms)),
    // The rows of one tenant must not keep those of another waiting: they are few, and made at once.
    each: async (items, make) => items.map(make),
  }
}
