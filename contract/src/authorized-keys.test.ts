import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { keyLine, newFields, newKeyLine } from '../../test/ssh-key-lines.ts'
import { authorizedKeysLine } from './authorized-keys.ts'
import { type DesiredKey, keyTypes } from './node-tasks.ts'

const keyOf = (line: string, expires_at: string | null = null) => {
  const [key_type, blob] = line.split(' ')
  return { key_type: key_type as DesiredKey['key_type'], blob: blob!, expires_at }
}

test.for(keyTypes)('SG-14 %s is written as type, key and our comment', (type) => {
  const line = keyLine(type, newFields[type]!())
  expect(authorizedKeysLine(keyOf(line), 'gatehouse:x')).toBe(`${line} gatehouse:x`)
})

describe('the end of a line', () => {
  const line = newKeyLine()
  const until = (expires_at: string) => /^expiry-time="(\d{14})Z" ssh-/.exec(authorizedKeysLine(keyOf(line, expires_at), 'x'))?.[1]

  test('SG-14 is the last second that is over before it, since sshd allows the second that is named', () => {
    expect(until('2030-01-01T00:00:00.000Z')).toBe('20291231235959')
    expect(until('2030-01-01T00:00:00.001Z')).toBe('20291231235959')
    expect(until('2030-01-01T00:00:00.999Z')).toBe('20291231235959')
    expect(until('2030-01-01T00:00:01.000Z')).toBe('20300101000000')
    expect(until('2028-03-01T00:00:00.000Z')).toBe('20280229235959')
  })

  test('SG-14 is never later than it was meant, and never a whole two seconds earlier', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(10_000), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }), (end) => {
        const [, y, mo, d, h, mi, s] = /^(\d{4})(..)(..)(..)(..)(..)$/.exec(until(end.toISOString())!)!
        const last = Date.UTC(Number(y), Number(mo) - 1, Number(d), Number(h), Number(mi), Number(s))
        // All of the second that it names.
        expect(last + 1000).toBeLessThanOrEqual(end.getTime())
        expect(last + 1000).toBeGreaterThan(end.getTime() - 1000)
      }),
    )
  })
})

describe('nothing else is written', () => {
  const good = keyOf(newKeyLine())
  const other = keyOf(newKeyLine('ecdsa-sha2-nistp256'))

  test.for([
    ['another type', { ...good, key_type: 'ssh-dss' }],
    ['a certificate', { ...good, key_type: 'ssh-ed25519-cert-v01@openssh.com' }],
    ['an option for a type', { ...good, key_type: `command="id" ${good.key_type}` }],
    ['the key of another type', { ...good, blob: other.blob }],
    ['a key with a line in it', { ...good, blob: `${good.blob}\n${good.blob}` }],
    ['a key with an end of line behind it', { ...good, blob: `${good.blob}\n` }],
    ['a key with a blank', { ...good, blob: `${good.blob} x` }],
    ['a key in another spelling', { ...other, blob: other.blob.replace(/.(=*)$/, '/$1') }],
    ['a key without its end', { ...good, blob: good.blob.slice(0, -1) }],
    ['no key', { ...good, blob: '' }],
    ['an end that is none', { ...good, expires_at: 'never' }],
    ['an end with a quote', { ...good, expires_at: '2030-01-01T00:00:00.000Z",command="id' }],
    ['an end with an end of line', { ...good, expires_at: '2030-01-01T00:00:00.000Z\n' }],
    ['a day that there is not', { ...good, expires_at: '2030-02-30T00:00:00.000Z' }],
    ['an end without milliseconds', { ...good, expires_at: '2030-01-01T00:00:00Z' }],
    ['an end in another zone', { ...good, expires_at: '2030-01-01T00:00:00.000+01:00' }],
    ['an end before there was time', { ...good, expires_at: '1970-01-01T00:00:01.000Z' }],
  ] as const)('SG-14 not %s', ([, key]) => {
    expect(() => authorizedKeysLine(key as never, 'gatehouse:x')).toThrow('no line is written')
  })

  test.for(['', ' ', 'two words', 'a\nb', 'a\n', '#', '"', 'x'.repeat(200), 'é', 'a\u2028b', 'a,b', '-a'])(
    'SG-14 not the comment %j',
    (comment) => {
      expect(() => authorizedKeysLine(good, comment)).toThrow('no line is written')
    },
  )
})

describe('a key that must verify its holder', () => {
  const security = keyOf(keyLine('sk-ssh-ed25519@openssh.com', newFields['sk-ssh-ed25519@openssh.com']!()), '2030-01-01T00:00:00.000Z')

  test('SG-27 a security key with verification → the line demands it, beside its end', () => {
    const line = `${security.key_type} ${security.blob} x`
    expect(authorizedKeysLine({ ...security, verify_required: true }, 'x')).toBe(`verify-required,expiry-time="20291231235959Z" ${line}`)
    expect(authorizedKeysLine({ ...security, expires_at: null, verify_required: true }, 'x')).toBe(`verify-required ${line}`)
  })

  test('SG-27 another type of key with verification → nothing is written: sshd would let it in', () => {
    expect(() => authorizedKeysLine({ ...keyOf(newKeyLine()), verify_required: true }, 'x')).toThrow()
  })
})
