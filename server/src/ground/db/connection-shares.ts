/** How the connections of a pool are divided, so that neither one tenant nor a held lock has all of them. */
export interface ConnectionShares {
  /** Each tenant has one; so many more are lent, to all tenants together. */
  readonly lent: number
  /** With so many, requests of all tenants together wait for locks that are held. */
  readonly held_up: number
  /** The same of what is issued, and of what is recorded about it: with others, one tenant at a time, and at a held lock. */
  readonly issuing: { readonly together: number; readonly apart: number; readonly held_up: number }
}

/** Of ten connections: two are lent, two wait for held locks, and issuing has two more for that. Whatever is held, some are free. */
export const connectionSharesOf = (connections: number): ConnectionShares => {
  const part = (tenths: number): number => Math.max(1, Math.round((connections * tenths) / 10))
  return { lent: part(2), held_up: part(2), issuing: { together: part(4), apart: part(3), held_up: part(2) } }
}
