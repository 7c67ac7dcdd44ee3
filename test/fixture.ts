import { afterAll, beforeAll } from 'vitest'

const notYet = 'the fixture is not set up yet: use it inside a test, a hook or the set-up of a later fixture'

/**
 * A fixture that all tests of a file, or of a `describe`, share: set up before the first of them and torn down after the last. A later
 * fixture may use an earlier one; it is torn down before it. The returned object delegates to the one that `setUp` made.
 */
export const fixture = <T extends object & { readonly length?: never }>(
  setUp: () => T | Promise<T>,
  tearDown: (made: T) => unknown = () => {},
): T => {
  let made: T | undefined
  beforeAll(async () => {
    made = await setUp()
  })
  afterAll(async () => {
    if (made) await tearDown(made)
  })
  const current = (): T => {
    if (!made) throw new Error(notYet)
    return made
  }
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(current(), name),
    has: (_, name) => Reflect.has(current(), name),
    set: () => false,
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor: (_, name) => {
      const described = Reflect.getOwnPropertyDescriptor(current(), name)
      return described && { ...described, configurable: true }
    },
  })
}
