import { createHash, timingSafeEqual } from 'node:crypto'

export type Person = { readonly username: string; readonly tenant?: string }

export type Account = {
  readonly sub: string
  readonly preferred_username: string
  readonly name: string
  readonly email: string
  readonly email_verified: true
}

/** The one rule by which every seeded person has a password; printed at the start, so it protects nothing but the habit of asking. */
const passwordOf = (username: string) => `${username}-gatehouse`

const digestOf = (text: string) => createHash('sha256').update(text).digest()
const nobodysDigest = digestOf(passwordOf('\u0000nobody'))

export const accountsOf = (people: readonly Person[]) => {
  const accounts = new Map(
    people.map(({ username, tenant }): [string, Account] => [
      username,
      {
        sub: username,
        preferred_username: username,
        name: username.charAt(0).toUpperCase() + username.slice(1),
        email: `${username}@${tenant ?? 'gatehouse'}.example`,
        email_verified: true,
      },
    ]),
  )
  return {
    find: (sub: string) => accounts.get(sub),
    /** Digests of one length are compared even when there is no such person, so that absence takes as long as error. */
    signIn: (username: unknown, password: unknown): Account | undefined => {
      if (typeof username !== 'string' || typeof password !== 'string') return undefined
      const account = accounts.get(username)
      const same = timingSafeEqual(digestOf(password), account ? digestOf(passwordOf(username)) : nobodysDigest)
      return same ? account : undefined
    },
  }
}

export type Accounts = ReturnType<typeof accountsOf>
