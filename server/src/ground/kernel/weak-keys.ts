// Public keys that have the right form and protect nothing.

/** Those of these primes for which the powers of 65537 do not leave every remainder. */
const primes = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]

const remaindersOf = (prime: number): ReadonlySet<number> => {
  const found = new Set<number>()
  for (let power = 1; !found.has(power); power = (power * 65_537) % prime) found.add(power)
  return found
}
const remainders = primes.map((prime) => [BigInt(prime), remaindersOf(prime)] as const)

const numberOf = (bytes: Uint8Array) => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

/**
 * Whether an RSA modulus bears the mark of a chip library that made its primes from powers of 65537 (CVE-2017-15361): the private part
 * can be computed from the public one. A sound modulus bears it once in two hundred million.
 */
export const isRocaModulus = (modulus: Uint8Array): boolean => {
  const number = numberOf(modulus)
  return remainders.every(([prime, left]) => left.has(Number(number % prime)))
}

const field = 2n ** 255n - 19n
/** The y of the points of small order. */
const smallOrder = new Set([
  0n,
  1n,
  0x5fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n,
  field - 1n,
])

/** Whether an Ed25519 key is a point for which one signature fits many messages, or is spelled other than it should; the curve takes both. */
export const isWeakEd25519 = (point: Uint8Array): boolean => {
  const y = numberOf(Buffer.from(point).reverse()) & ((1n << 255n) - 1n)
  return y >= field || smallOrder.has(y)
}
