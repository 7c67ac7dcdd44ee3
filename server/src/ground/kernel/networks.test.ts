import fc from 'fast-check'
import { expect, test } from 'vitest'
import { networkOf } from './networks.ts'

test.for([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:01:2::', '2001:db8:1:2::/64'],
  ['2001:db8::3:4:5:6', '2001:db8:0:0::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['2001:0:1:2:3:4:192.0.2.1', '2001:0:1:2::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
])('HO-04 %s comes from %s', ([address, network]) => {
  expect(networkOf(address!)).toBe(network)
})

test('HO-04 what one can choose oneself does not change where one comes from, and the rest does', () => {
  const group = fc.nat(0xffff).map((figure) => figure.toString(16))
  const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count })
  fc.assert(
    fc.property(groups(4), groups(4), groups(4), groups(4), (ours, theirs, one, other) => {
      const from = (network: string[], host: string[]) => networkOf([...network, ...host].join(':'))
      expect(from(ours, one)).toBe(from(ours, other))
      expect(from(ours, one) === from(theirs, one)).toBe(ours.join() === theirs.join())
    }),
    { numRuns: 2000 },
  )
})
