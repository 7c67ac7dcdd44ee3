/**
 * Reads several things that belong together, and reads them again if something changed meanwhile: servers make next keys in the background,
 * and a change that falls between two reads would look like one that was not recorded. Every change moves the head of a chain.
 */
export const steadily = async <T>(readHeads: () => Promise<unknown>, read: () => Promise<T>): Promise<T> => {
  for (let tries = 0; tries < 100; tries += 1) {
    const before = JSON.stringify(await readHeads())
    const found = await read()
    if (JSON.stringify(await readHeads()) === before) return found
  }
  throw new Error('the world does not come to rest: something changed during each of 100 readings')
}
