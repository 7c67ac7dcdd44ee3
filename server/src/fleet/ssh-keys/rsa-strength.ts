import { isRocaModulus } from '#ground/kernel/weak-keys.ts'

/** What a sieve leaves. */
const primesBelow = (end: number): number[] => {
  const is_struck = new Uint8Array(end)
  const primes: number[] = []
  for (let number = 2; number < end; number += 1) {
    if (is_struck[number]) continue
    primes.push(number)
    for (let multiple = number * number; multiple < end; multiple += number) is_struck[multiple] = 1
  }
  return primes
}
const smallPrimes = primesBelow(10_000).map(BigInt)

export const bitsOf = (number: bigint): number => number.toString(2).length

/** The largest number whose square is not above it. */
const rootOf = (number: bigint): bigint => {
  if (number === 0n) return 0n
  let root = 1n << BigInt(Math.ceil(bitsOf(number) / 2))
  for (;;) {
    const next = (root + number / root) >> 1n
    if (next >= root) return root
    root = next
  }
}

/** Squares end in few of the 256 ways in which a byte can. */
const endings = new Set(Array.from({ length: 256 }, (_, byte) => (byte * byte) % 256))
const isSquare = (number: bigint): boolean => {
  if (!endings.has(Number(number & 255n))) return false
  const root = rootOf(number)
  return root * root === number
}

const fermatSteps = 100

/**
 * Whether the two primes lie so near each other that the root of their product finds them (Fermat's method; CVE-2022-26320). One prime
 * squared is the nearest that they can be.
 */
const haveNearPrimes = (modulus: bigint): boolean => {
  let middle = rootOf(modulus)
  if (middle * middle < modulus) middle += 1n
  for (let step = 0; step < fermatSteps; step += 1, middle += 1n) if (isSquare(middle * middle - modulus)) return true
  return false
}

/**
 * Whether the private part of an RSA key can be had from the public one with a little arithmetic, or it protects nothing to begin with.
 * A modulus that is itself a prime is not looked for: that would cost a second for the longest, and hurts only whoever made it.
 */
export const isWeakRsa = (exponent: bigint, modulus: bigint): boolean => {
  if (exponent < 3n || exponent % 2n === 0n || exponent > 1n << 64n) return true
  if (smallPrimes.some((prime) => modulus % prime === 0n)) return true
  return (
    isRocaModulus(Buffer.from(modulus.toString(16).padStart(Math.ceil(bitsOf(modulus) / 8) * 2, '0'), 'hex')) || haveNearPrimes(modulus)
  )
}
