import type { Action } from '#rails/authz/actions.ts'

/** Keys of the baseline that no operation asks about yet, and who does: they ask the decision API. A room that serves one takes it off. */
export const stagedKeys = {
  'tenant.billing.read': 'a billing product',
  'tenant.billing.write': 'a billing product',
  'tenant.invoice.read': 'a billing product',
  'terminal.connect': 'a terminal gateway',
  'storage.read': 'a storage product, until buckets are served here',
  'storage.write': 'a storage product, until buckets are served here',
} as const satisfies { readonly [_ in Action]?: string }
