import { isIPv6 } from 'node:net'

/** The groups of an IPv6 address, none left out, each in its shortest spelling; an IPv4 address at its end counts for two. */
const groupsOf = (address: string): string[] => {
  const [head = '', tail] = address.split('%', 1)[0]!.split('::')
  const spelled = (part: string | undefined) =>
    (part ? part.split(':') : []).flatMap((group) => (group.includes('.') ? ['v4', group] : [Number.parseInt(group, 16).toString(16)]))
  const [before, after] = [spelled(head), spelled(tail)]
  return tail === undefined ? before : [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
}

/**
 * Where a request came from, as far as one can choose it oneself: whoever has an IPv6 address has all of its /64. An IPv4 address is what
 * it is, also where it comes in the clothes of the other.
 */
export const networkOf = (address: string): string => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  return isIPv6(plain) ? `${groupsOf(plain).slice(0, 4).join(':')}::/64` : plain
}
