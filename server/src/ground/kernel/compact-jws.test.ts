import { expect, test } from 'vitest'
import { openCompactJws } from './compact-jws.ts'

const encode = (text: string) => Buffer.from(text).toString('base64url')
const header = '{"alg":"ES256","kid":"k","typ":"at+jwt"}'
const tokenOf = (head: string, payload = '{"sub":"a"}', signature = 'AAAA') => `${encode(head)}.${encode(payload)}.${signature}`
const withHeader = (members: object) => tokenOf(JSON.stringify({ alg: 'ES256', kid: 'k', ...members }))
const good = tokenOf(header)

test('HO-06 a well-formed token opens', () => {
  expect(openCompactJws(good)).toEqual({ ok: true, header: { alg: 'ES256', kid: 'k', typ: 'at+jwt' }, claims: { sub: 'a' } })
})

test.each([
  ['nothing', ''],
  ['two parts', good.slice(0, good.lastIndexOf('.'))],
  ['four parts', `${good}.AAAA`],
  ['five parts', `${good}.AAAA.AAAA`],
  ['an empty signature', tokenOf(header, '{}', '')],
  ['an empty payload', `${encode(header)}..AAAA`],
  ['padding', `${good}=`],
  ['a leading space', ` ${good}`],
  ['a trailing newline', `${good}\n`],
  ['whitespace inside', good.replace('.', ' .')],
  ['the other base64 alphabet', tokenOf(header, '{}', 'AA+/')],
  ['spare bits that are not zero', tokenOf(header, '{}', 'AB')],
  ['a lone base64 character', tokenOf(header, '{}', 'AAAAA')],
  ['more than 16 KiB', tokenOf(header, JSON.stringify({ sub: 'a'.repeat(16 * 1024) }))],
  ['a header that is no JSON', tokenOf('{')],
  ['a header that is an array', tokenOf('[]')],
  ['a header that is null', tokenOf('null')],
  ['a header with a byte order mark', tokenOf(`\ufeff${header}`)],
  ['a header that is not UTF-8', `${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${encode('{}')}.AAAA`],
  ['a payload that is not UTF-8', `${encode(header)}.${Buffer.from('{"sub":"\xff"}', 'latin1').toString('base64url')}.AAAA`],
  ['alg twice', tokenOf('{"alg":"none","alg":"ES256","kid":"k"}')],
  ['alg twice, once in disguise', tokenOf('{"\\u0061lg":"none","alg":"ES256","kid":"k"}')],
  ['a claim twice', tokenOf(header, '{"sub":"a","sub":"b"}')],
  ['a claim twice, deep down', tokenOf(header, '{"a":[{"b":{"c":1,"c":2}}]}')],
  ['a payload that is text', tokenOf(header, '"sub"')],
  ['no kid', tokenOf('{"alg":"ES256"}')],
  ['an empty kid', withHeader({ kid: '' })],
  ['a kid that is a number', withHeader({ kid: 1 })],
  ['no alg', tokenOf('{"kid":"k"}')],
  ['an alg that is a list', withHeader({ alg: ['ES256'] })],
  ['a typ that is an object', withHeader({ typ: {} })],
  ...['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'HS384', 'HS512', 'hs256', 'es256', 'ES256 ', 'constructor'].map((alg) => [
    `alg ${JSON.stringify(alg)}`,
    withHeader({ alg }),
  ]),
  ...['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip'].map((member) => [`header member ${member}`, withHeader({ [member]: null })]),
])('HO-06 the gate refuses %s', (_what, token) => {
  expect(openCompactJws(token!).ok).toBe(false)
})

test('HO-06 the gate allows no algorithm outside the list it is given', () => {
  expect(openCompactJws(good, ['EdDSA']).ok).toBe(false)
})

test('HO-06 brackets and quotes inside strings do not confuse the search for repeated members', () => {
  expect(openCompactJws(tokenOf(header, '{"a":"{\\"a\\":1,","b":{"a":["a","a"]},"c":{"a":1}}')).ok).toBe(true)
})
