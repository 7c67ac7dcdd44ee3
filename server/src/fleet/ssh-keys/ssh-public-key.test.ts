import { authorizedKeysLine } from '@gatehouse/contract/authorized-keys'
import { keyTypes } from '@gatehouse/contract/node-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { processorMs } from '../../../../test/cpu-time.ts'
import { hostileTexts, modulusOf } from '../../../../test/ssh-hostile-texts.ts'
import { keyLine, newFields, newKeyLine, rsaFields } from '../../../../test/ssh-key-lines.ts'
import { type PublicKey, parsePublicKey } from './ssh-public-key.ts'

const accepted = (text: string): PublicKey => {
  const key = parsePublicKey(text)
  if ('refused' in key) throw new Error(`refused: ${key.refused}`)
  return key
}

describe('a key that is taken', () => {
  test.for(keyTypes)('SG-14 %s: what is kept is its type and its bytes, and nothing of the comment', (type) => {
    const line = keyLine(type, newFields[type]!())
    for (const text of [line, `${line}\n`, `${line} `, `${line} me@laptop`, `${line} José’s laptop, the second\n`, `${line}  two blanks`]) {
      const key = accepted(text)
      expect(`${key.key_type} ${key.blob}`).toBe(line)
      expect(Object.keys(key).sort()).toEqual(['bits', 'blob', 'fingerprint', 'key_type'])
      expect(key.fingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)
    }
  })

  test('SG-14 a comment may be 1 KB, and may be called like a key', () => {
    for (const comment of ['x'.repeat(1024), 'ssh-key-2026', 'AAAA', 'command="id"'])
      accepted(`${keyLine('ssh-ed25519', newFields['ssh-ed25519']!())} ${comment}`)
  })

  test('SG-14 RSA from 2048 to 8192 bits, with any exponent that is odd and sane, within a blink', () => {
    for (const [bits, e] of [
      [2048, 3n],
      [2048, 65_537n],
      [3072, 35n],
      [4096, 2n ** 64n - 1n],
      [8192, 65_537n],
    ] as const) {
      const line = keyLine('ssh-rsa', rsaFields(e, modulusOf(bits)))
      // Nobody keeps a process busy with keys that are as long as they can be.
      expect(processorMs(() => expect(accepted(line).bits).toBe(bits))).toBeLessThan(1000)
    }
  })
})

describe('a text that is refused', () => {
  test('SG-14 S1 S2 every hostile text, and for the reason that it has', () => {
    const texts = hostileTexts()
    expect(texts.length).toBeGreaterThan(1500)
    const wrong = texts.flatMap(({ what, text, reason }) => {
      const read = parsePublicKey(text)
      if (!('refused' in read)) return [`taken: ${what}`]
      return reason === undefined || read.refused === reason ? [] : [`${what}: ${read.refused}, not ${reason}`]
    })
    expect(wrong).toEqual([])
  })

  test('SG-14 S1 none takes long', () => {
    for (const text of [
      '"d"'.repeat(5000),
      `ssh-rsa ${'A'.repeat(16_000)}`,
      ' '.repeat(16_384),
      `"d"${' '.repeat(16_000)}`,
      'x '.repeat(8000),
    ]) {
      expect(processorMs(() => expect(parsePublicKey(text)).toHaveProperty('refused'))).toBeLessThan(500)
    }
  })
})

/** What sshd is ever given to read, in one line. */
const cleanLine = /^(?:expiry-time="\d{14}Z" )?[a-z0-9@.-]+ [A-Za-z0-9+/]+={0,2} [A-Za-z0-9._:@-]+$/
type Writer = (text: string, key: PublicKey) => string
const ours: Writer = (_text, key) => authorizedKeysLine({ ...key, expires_at: '2030-01-01T00:00:00.000Z' }, 'gatehouse:key')
/** The fault that this is about: what somebody sent is written as it came. */
const asItCame: Writer = (text) => text

const lines = Object.fromEntries(keyTypes.map((type) => [type, newKeyLine(type)]))
const almostALine = fc
  .tuple(
    fc.constantFrom(...Object.values(lines)),
    fc.array(
      fc.tuple(fc.nat(400), fc.nat(3), fc.oneof(fc.string({ maxLength: 4 }), fc.constantFrom('\n', '\r', '\0', '"', ',', ' ', '#'))),
      { maxLength: 3 },
    ),
  )
  .map(([line, edits]) =>
    edits.reduce((text, [at, cut, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + cut), line),
  )

const anyText = fc.array(fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes))

const badLines = (write: Writer, texts: readonly string[]) =>
  texts.filter((text) => {
    const key = parsePublicKey(text)
    return !('refused' in key) && !cleanLine.test(write(text, key))
  })

describe('what is written of it', () => {
  test('SG-14 S1 whatever is taken becomes one line of type, key and our comment, and is read as the same key again', () => {
    fc.assert(
      fc.property(fc.oneof(almostALine, anyText), (text) => {
        const key = parsePublicKey(text)
        if ('refused' in key) return
        const line = ours(text, key)
        expect(line).toMatch(cleanLine)
        expect(accepted(line.split(' ').slice(1).join(' '))).toEqual(key)
      }),
      { numRuns: 1000 },
    )
  })

  test('SG-14 S1 a writer that writes the sender’s line as it came is found out', () => {
    const texts = [...Object.values(lines), ...Object.values(lines).map((line) => `${line} command="id"`)]
    expect(badLines(ours, texts)).toEqual([])
    expect(badLines(asItCame, texts).length).toBeGreaterThan(0)
    // And where nothing is refused before it, the second line and the authority would stand in the file.
    const found = hostileTexts().filter(({ text }) => !cleanLine.test(asItCame(text, {} as PublicKey)))
    const names = new Set(found.map(({ what }) => what))
    for (const what of ['two keys', 'the option cert-authority', 'U+a within the comment', 'U+0 after the key'])
      expect(names).toContain(what)
  })
})
