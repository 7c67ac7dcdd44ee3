import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sourceAddress, trustedProxies } from './source-address.ts'

const trusted = trustedProxies(['10.0.0.0/24', '192.0.2.1', 'fd00::/64'])!
const nobody = trustedProxies([])!

test.for([
  ['a peer that is no proxy', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['a proxy that names a client', '10.0.0.5', '198.51.100.1', '198.51.100.1'],
  ['entries of the client before it', '10.0.0.5', '1.1.1.1, 10.0.0.9, 198.51.100.1', '198.51.100.1'],
  ['two proxies in a row', '10.0.0.5', '1.1.1.1, 198.51.100.1,192.0.2.1', '198.51.100.1'],
  ['only proxies', '10.0.0.5', '10.0.0.7, 10.0.0.6', '10.0.0.7'],
  ['no header', '10.0.0.5', undefined, '10.0.0.5'],
  ['an empty header', '10.0.0.5', '', '10.0.0.5'],
  ['garbage', '10.0.0.5', 'unknown', '10.0.0.5'],
  ['garbage behind a client', '10.0.0.5', '198.51.100.1, <script>', '10.0.0.5'],
  ['garbage before a client', '10.0.0.5', '<script>, 198.51.100.1', '198.51.100.1'],
  ['an IPv6 zone', '10.0.0.5', 'fe80::1%eth0', '10.0.0.5'],
  ['a port', '10.0.0.5', '198.51.100.1:4711', '198.51.100.1'],
  ['IPv6 in brackets', '10.0.0.5', '[2001:DB8::0:1]:4711', '2001:db8::1'],
  ['IPv6 without', '10.0.0.5', '2001:db8:0::1', '2001:db8::1'],
  ['IPv4 as IPv6', '::ffff:10.0.0.5', '::ffff:198.51.100.1', '198.51.100.1'],
  ['IPv4 as IPv6 in hexadecimal', '::ffff:a00:5', '::ffff:c633:6401', '198.51.100.1'],
  ['a proxy of IPv6', 'fd00::7', '198.51.100.1', '198.51.100.1'],
  ['octal digits', '10.0.0.5', '010.0.0.1', '10.0.0.5'],
  ['a number', '10.0.0.5', '3325256705', '10.0.0.5'],
] as const)('PR-04 M1 source address: %s → the right-most untrusted address', ([, peer, header, expected]) => {
  expect(sourceAddress(peer, header, trusted)).toBe(expected)
})

test('PR-04 M1 source address: no trusted proxy → the connection’s own, whatever was sent', () => {
  for (const header of ['198.51.100.1', '10.0.0.5', 'x'.repeat(16_000), `${'1.1.1.1,'.repeat(2000)}2.2.2.2`])
    expect(sourceAddress('10.0.0.5', header, nobody)).toBe('10.0.0.5')
})

test('PR-04 M1 source address: a client’s own entries → never change the answer', () => {
  const written = fc.array(
    fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.string({ maxLength: 20 }).map((text) => text.replaceAll(',', '')),
      fc.constant('10.0.0.8'),
    ),
    { maxLength: 30 },
  )
  fc.assert(
    fc.property(written, (entries) => {
      const header = [...entries, '198.51.100.1', '10.0.0.6'].join(', ')
      expect(sourceAddress('10.0.0.5', header, trusted)).toBe('198.51.100.1')
    }),
  )
  // The control: who takes the left-most believes the client.
  const leftMost = (header: string) => header.split(',')[0]!.trim()
  expect(leftMost('1.1.1.1, 198.51.100.1, 10.0.0.6')).not.toBe(sourceAddress('10.0.0.5', '1.1.1.1, 198.51.100.1, 10.0.0.6', trusted))
})

test('PR-04 M1 source address: an endless list of proxies → an end', () => {
  expect(sourceAddress('10.0.0.5', Array(1000).fill('10.0.0.6').join(','), trusted)).toBe('10.0.0.6')
})

test.for([
  ['10.0.0.0/0'],
  ['::/0'],
  ['10.0.0.0/33'],
  ['fd00::/129'],
  ['10.0.0.0/'],
  ['10.0.0.0/8/8'],
  ['proxy.example'],
  [''],
  ['fe80::1%eth0/64'],
  ['10.0.0.0/08'],
  ['::ffff:10.0.0.1'],
  ['::ffff:a00:0/120'],
])('PR-04 trusted proxies: %j → refused', ([range]) => {
  expect(trustedProxies(['10.0.0.1', range!])).toBeUndefined()
})
