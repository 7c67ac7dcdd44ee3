import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHeader, parseInTable, sealLength, sealOf, unframed } from './backup-format.ts'

const sha256 = '0123456789abcdef'.repeat(4)
const cutAt = async function* (bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('the seal is a gzip member of one length, so that the file as a whole unpacks with any tool', () => {
  const whole = Buffer.concat([gzipSync('contents\n'), sealOf(sha256)])
  expect(gunzipSync(whole).toString()).toBe(`contents\n{"sha256":"${sha256}"}\n`)
  expect(sealOf(sha256)).toHaveLength(sealLength)
})

test('lines and pieces read the same however the bytes arrive', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 })), fc.integer({ min: 1, max: 400 }), async (pieces, size) => {
      const written = Buffer.concat(pieces.flatMap((piece) => [Buffer.from(`{"bytes":${piece.length}}\n`), piece]))
      const reader = unframed(cutAt(written, size))
      for (const piece of pieces) {
        const line = parseInTable(await reader.line()) as { bytes: number }
        const read: Buffer[] = []
        for await (const part of reader.bytes(line.bytes)) read.push(part)
        expect(Buffer.concat(read).equals(piece)).toBe(true)
      }
      expect(await reader.isAtEnd()).toBe(true)
    }),
  ))

test('what ends in the middle of a line or of a piece is said to end early', async () => {
  await expect(unframed(cutAt(Buffer.from('{"bytes":'), 3)).line()).rejects.toThrow('ends before its tables do')
  const pieces = unframed(cutAt(Buffer.from('abc'), 3)).bytes(4)
  expect((await pieces.next()).value).toEqual(Buffer.from('abc'))
  await expect(pieces.next()).rejects.toThrow('ends before its tables do')
  // A file of one endless line is given up and not collected.
  await expect(unframed(cutAt(Buffer.alloc(4 << 20, 'x'), 1 << 16)).line()).rejects.toThrow('ends before its tables do')
})

test('a header of another format or version says which', () => {
  expect(() => parseHeader({ format: 'gatehouse-backup', version: 3, more: true })).toThrow(
    'The backup is of format 3; this version of Gatehouse reads format 2.',
  )
  expect(() => parseHeader({ format: 'gatehouse-backup', version: 2 })).toThrow('not a Gatehouse backup')
  expect(() => parseHeader([])).toThrow('not a Gatehouse backup')
  expect(() => parseInTable({ bytes: 0 })).toThrow('does not read as one')
})
