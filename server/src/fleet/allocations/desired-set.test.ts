import { createHash } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { desiredSet, type Entry } from './desired-set.ts'

const fingerprints = ['SHA256:a', 'SHA256:b', 'SHA256:c']
const ends = [null, '2030-01-01T00:00:00.000Z', '2031-01-01T00:00:00.000Z']

const anEntry = fc
  .record({ of: fc.constantFrom(...fingerprints), grant: fc.option(fc.nat(5)), key: fc.nat(5), end: fc.constantFrom(...ends) })
  .map(
    ({ of, grant, key, end }) =>
      ({
        key_type: 'ssh-ed25519',
        blob: `blob of ${of}`,
        fingerprint: of,
        grant_id: grant === null ? null : `grant ${grant}`,
        ssh_key_id: `key ${key}`,
        user_id: `user ${key}`,
        expires_at: grant === null ? null : end,
      }) as unknown as Entry,
  )
const entries = fc.uniqueArray(anEntry, {
  selector: ({ grant_id, ssh_key_id, fingerprint }) => `${grant_id} ${ssh_key_id} ${fingerprint}`,
  maxLength: 12,
})

test('SG-06 SG-09 whatever the order of what it is made of, the set is the same: each key once, with all who hold it, as long as the last of them', () => {
  fc.assert(
    fc.property(
      entries.chain((made) => fc.tuple(fc.constant(made), fc.shuffledSubarray(made, { minLength: made.length }))),
      ([made, turned]) => {
        const set = desiredSet(made)
        expect(desiredSet(turned)).toEqual(set)
        expect(set.set_hash).toBe(createHash('sha256').update(canonicalJson(set.keys)).digest('hex'))
        const listed = set.keys.map(({ fingerprint }) => fingerprint)
        expect(listed).toEqual([...new Set(made.map(({ fingerprint }) => fingerprint))].sort())
        for (const { fingerprint, holders, expires_at } of set.keys) {
          const same = made.filter((entry) => entry.fingerprint === fingerprint)
          expect(holders).toHaveLength(same.length)
          const hasNoEnd = same.some((entry) => entry.expires_at === null)
          expect(expires_at).toBe(
            hasNoEnd
              ? null
              : same
                  .map((entry) => entry.expires_at)
                  .sort()
                  .at(-1),
          )
        }
      },
    ),
    { numRuns: 1000 },
  )
})

test('SG-06 sets that differ in one holder or one end have another hash', () => {
  const entry = { key_type: 'ssh-ed25519', blob: 'b', fingerprint: 'f', grant_id: 'g', ssh_key_id: 'k', user_id: 'u', expires_at: null }
  const hashes = [
    [],
    [entry],
    [{ ...entry, expires_at: ends[1] }],
    [{ ...entry, grant_id: null }],
    [{ ...entry, user_id: 'another' }],
    [entry, { ...entry, grant_id: 'another' }],
    [{ ...entry, fingerprint: 'another' }],
  ].map((made) => desiredSet(made as unknown as Entry[]).set_hash)
  expect(new Set(hashes).size).toBe(hashes.length)
})
