import { BlockList, isIP, isIPv6, SocketAddress } from 'node:net'

/** How many proxies in a row are followed; nobody has more. */
const most_hops = 20

const mapped = /^::ffff:(?=\d+\.)/i
/** An IPv6 address has one spelling, and an IPv4 address that is written as IPv6 is that IPv4 address. */
const canonical = (address: string): string =>
  (isIPv6(address) ? new SocketAddress({ address, family: 'ipv6' }).address : address).replace(mapped, '')

/** `address`, `address:port` and `[address]:port`, as proxies write them. No zone: that is an interface of the machine that wrote it. */
const entry = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9.]{7,15}))(?::\d{1,5})?$|^([0-9A-Fa-f:.]{2,45})$/

const addressIn = (text: string): string | undefined => {
  const found = entry.exec(text.trim())
  const address = found?.[1] ?? found?.[2] ?? found?.[3]
  return address !== undefined && isIP(address) !== 0 ? canonical(address) : undefined
}

export type IsTrusted = (address: string) => boolean

/** Whether an address lies in one of these CIDR ranges. Undefined where one of them is none, or would trust everybody. */
export const trustedProxies = (ranges: readonly string[]): IsTrusted | undefined => {
  const lists = { 4: new BlockList(), 6: new BlockList() }
  for (const range of ranges) {
    const [address = '', prefix, ...more] = range.split('/')
    const family = isIP(address)
    const longest = family === 6 ? 128 : 32
    const length = prefix === undefined ? longest : /^[1-9]\d{0,2}$/.test(prefix) ? Number(prefix) : 0
    // A peer is compared in its IPv4 form, so a range of IPv4 addresses that is written as IPv6 would match nobody.
    if (family === 6 && isIP(canonical(address)) === 4) return undefined
    if (family === 0 || address.includes('%') || more.length > 0 || length < 1 || length > longest) return undefined
    lists[family as 4 | 6].addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4')
  }
  return (address) => (isIP(address) === 6 ? lists[6].check(address, 'ipv6') : lists[4].check(address, 'ipv4'))
}

/**
 * Where a request comes from. Each proxy appends the address that it was called from, so the list is read from its end: the first address
 * that is no proxy of ours is the client. What stands before it was written by the client. Where an entry is no address, the proxy that
 * passed it on is as far as anybody knows.
 */
export const sourceAddress = (peer: string, forwarded_for: string | undefined, isTrusted: IsTrusted): string => {
  let address = canonical(peer)
  if (forwarded_for === undefined) return address
  for (const text of forwarded_for.split(',').reverse().slice(0, most_hops)) {
    const before = isTrusted(address) ? addressIn(text) : undefined
    if (before === undefined) return address
    address = before
  }
  return address
}
