import { randomBytes } from 'node:crypto'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { Secret } from '../kernel/secret.ts'
import { EnvelopeRefused, seal, unseal } from './envelope.ts'
import { KeysRefused, loadKeyRing, parseKeyRing } from './key-ring.ts'

const key = () => randomBytes(32).toString('base64url')
const [one, two] = [key(), key()]
const ring = parseKeyRing(`two:${two},one:${one}`)
const older = parseKeyRing(`one:${one}`)

describe('envelopes', () => {
  test('HO-08 what was sealed comes back, whatever it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, bound) => {
        expect(unseal(ring, seal(ring, new Secret(text), bound), bound).reveal()).toBe(text)
      }),
    )
  })

  test('HO-08 new writes use the active key, reads accept every configured key', () => {
    expect(seal(ring, new Secret('x'), 'b').key_id).toBe('two')
    expect(unseal(ring, seal(older, new Secret('x'), 'b'), 'b').reveal()).toBe('x')
    expect(() => unseal(older, seal(ring, new Secret('x'), 'b'), 'b')).toThrow(EnvelopeRefused)
  })

  test('HO-08 the same secret is sealed differently each time', () => {
    expect(seal(ring, new Secret('x'), 'b').ct).not.toBe(seal(ring, new Secret('x'), 'b').ct)
  })

  test('HO-08 a bad envelope opens for nobody and reveals nothing', () => {
    const good = seal(ring, new Secret('canary-secret'), 'place')
    const flipped = (text: string, at: number) => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
    const bad: unknown[] = [
      null,
      'text',
      [],
      {},
      { ...good, v: 2 },
      { ...good, alg: 'none' },
      { ...good, key_id: 'one' },
      { ...good, key_id: '__proto__' },
      { ...good, extra: 1 },
      { ...good, nonce: '' },
      { ...good, ct: '' },
    ]
    for (let at = 0; at < good.ct.length - 1; at += 1) bad.push({ ...good, ct: flipped(good.ct, at) })
    for (let at = 0; at < good.nonce.length; at += 1) bad.push({ ...good, nonce: flipped(good.nonce, at) })
    for (const envelope of bad) {
      expect(() => unseal(ring, envelope, 'place')).toThrow(EnvelopeRefused)
      try {
        unseal(ring, envelope, 'place')
      } catch (error) {
        expect(String(error)).not.toContain('canary')
      }
    }
    // Moved to another row or table it does not open either.
    expect(() => unseal(ring, good, 'another place')).toThrow(EnvelopeRefused)
  })
})

describe('key sources', () => {
  const folder = temporaryFolder('keys')

  test('HO-08 keys come from the environment, a file or a program', async () => {
    const text = `two:${two},one:${one}`
    const file = join(folder, 'keys')
    await writeFile(file, `two:${two}\none:${one}\n`)
    const program = join(folder, 'kms')
    await writeFile(program, `#!/bin/sh\nprintf 'two:${two} one:${one}'\n`)
    await chmod(program, 0o700)
    const sealed = seal(older, new Secret('x'), 'b')
    for (const source of [
      { from: 'environment', text: new Secret(text) } as const,
      { from: 'file', path: file } as const,
      { from: 'command', path: program } as const,
    ]) {
      const loaded = await loadKeyRing(source, 'production')
      expect(loaded.active_id).toBe('two')
      expect(loaded.ids).toEqual(['two', 'one'])
      expect(unseal(loaded, sealed, 'b').reveal()).toBe('x')
    }
  })

  test('HO-08 a source that fails or keys that are none refuse with a sentence that holds no key', async () => {
    await expect(loadKeyRing({ from: 'file', path: join(folder, 'absent') }, 'production')).rejects.toThrow(KeysRefused)
    await expect(loadKeyRing({ from: 'command', path: '/bin/false' }, 'production')).rejects.toThrow(KeysRefused)
    for (const text of ['', 'one', `one:${one.slice(1)}`, `one:${one},one:${two}`, `One:${one}`, `one:${one}=`]) {
      const refused = await loadKeyRing({ from: 'environment', text: new Secret(text) }, 'production').catch((error: Error) => error)
      expect(refused).toBeInstanceOf(KeysRefused)
      expect(String(refused)).not.toContain(one.slice(1))
    }
  })

  test('HO-03 production refuses development keys', async () => {
    const source = { from: 'environment', text: new Secret(`one:${one},dev:development-${two}`) } as const
    await expect(loadKeyRing(source, 'production')).rejects.toThrow('development key')
    expect((await loadKeyRing(source, 'development')).ids).toEqual(['one', 'dev'])
  })
})
