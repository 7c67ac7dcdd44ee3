import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slowDownWrongs } from '../../server/src/machines/tokens/slow-down.ts'
import { countedRefusals } from '../../server/src/rails/http/counted-refusals.ts'
import { declaredSources, keptSources } from '../replicas/kept-sources.ts'
import { distinct, enough, pairsAmong } from './distinct.ts'
import { everyKey, type Keyed, texts } from './every-key.ts'

const keys = await everyKey()
const inputsOf = ({ drawn, meaningOf = (input) => input }: Keyed) => distinct(drawn, meaningOf as (input: unknown) => unknown)
const drawn = new Map(Object.entries(keys).map(([name, keyed]) => [name, inputsOf(keyed)]))
const namesOf = (inputs: readonly unknown[], keyOf: Keyed['keyOf']) => inputs.map((input) => keyOf(input as never))

const elsewhere = fileURLToPath(new URL('./tell-keys.ts', import.meta.url))
/** There is one key set and no other. */
const single = 'kept: signing keys'

test('DE-19 every source there is is among those compared, under its own name', async () => {
  const sources = Object.entries(await keptSources())
  expect(sources.map(([, { name }]) => name)).toEqual(sources.map(([name]) => name))
  expect(sources).toHaveLength(declaredSources())
})

describe('C4 of distinct inputs no two have one key, each with each other, over a million pairs', () => {
  test('so many are a million pairs', () => {
    expect(pairsAmong(enough)).toBeGreaterThanOrEqual(1_000_000)
  })

  for (const [name, keyed] of Object.entries(keys))
    test(`DE-19 HO-04 ${name}`, () => {
      const inputs = drawn.get(name)!
      expect(inputs).toHaveLength(name === single ? 1 : enough)
      expect(new Set(namesOf(inputs, keyed.keyOf)).size).toBe(inputs.length)
    })

  test('DE-19 nor have two of two sources, which are kept side by side', () => {
    const kept = Object.entries(keys).filter(([name]) => name.startsWith('kept: '))
    const names = kept.flatMap(([name, { keyOf }]) => namesOf(drawn.get(name)!, keyOf))
    expect(new Set(names).size).toBe(names.length)
  })

  // These two count in their own memory: with a name of his own, everybody begins at one.
  const pairs = distinct(fc.record({ who: texts, reason: fc.constantFrom('a', 'b', 'permission_denied', 'denied') }), (pair) => pair)
  test('AU-01 refusals of nodes', () => {
    const count = countedRefusals()
    expect(new Set(pairs.map(({ who, reason }) => count(who, reason)))).toEqual(new Set([1]))
    expect(new Set(pairs.map(({ who, reason }) => count(who, reason)))).toEqual(new Set([2]))
  })
  test('TI-11 wrong secrets', () => {
    const { countOf } = slowDownWrongs()
    const figures = { forget_seconds: 60 } as Parameters<typeof countOf>[2]
    const count = () => new Set(pairs.map(({ who, reason }) => countOf(who, { why: reason, is_right: true }, figures)))
    expect([count(), count()]).toEqual([new Set([1]), new Set([2])])
    expect(pairs).toHaveLength(enough)
  })
})

describe('C4 the same input has the same key', () => {
  test('DE-19 HO-04 in whichever order its members were written', () => {
    const turned = (input: unknown): unknown => {
      if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
      const members = Object.entries(input).reverse()
      return Object.fromEntries(members.map(([name, member]) => [name, turned(member)]))
    }
    for (const [name, { keyOf }] of Object.entries(keys))
      expect([name, namesOf(drawn.get(name)!.map(turned), keyOf)]).toEqual([name, namesOf(drawn.get(name)!, keyOf)])
  })

  test('DE-19 HO-04 in another process', async () => {
    const told = await new Promise<string>((resolve, reject) => {
      const child = execFile(process.execPath, [elsewhere], { maxBuffer: 64 << 20 }, (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      )
      child.stdin!.end(JSON.stringify(Object.fromEntries(drawn)))
    })
    const here = Object.entries(keys).map(([name, { keyOf }]) => [name, namesOf(drawn.get(name)!, keyOf)])
    expect(JSON.parse(told)).toEqual(Object.fromEntries(here))
  })
})

describe('the million pairs can find something', () => {
  const membersOf = (input: unknown): unknown[] => (typeof input === 'object' && input !== null ? Object.values(input) : [input])
  const collides = (name: string, keyOf: (input: unknown) => string) => {
    const inputs = drawn.get(name)!
    return new Set(inputs.map(keyOf)).size < inputs.length
  }
  test('texts that are joined', () => {
    expect(collides('kept: person', (input) => membersOf(input).join(' '))).toBe(true)
    expect(collides('idempotent request', (input) => membersOf(input).map(String).join())).toBe(true)
  })
  test('a member that is left out, or has no place of its own', () => {
    for (const name of ['kept: standing', 'kept: rules', 'kept: policy', 'kept: issued token', 'kept: service account key'])
      for (const careless of [
        (input: unknown) => membersOf(input).slice(1).join(' '),
        (input: unknown) => membersOf(input).slice(0, -1).join(' '),
        (input: unknown) => membersOf(input).sort().join(' '),
      ])
        expect([name, collides(name, careless)]).toEqual([name, true])
  })
  test('a caller who is counted without how, or without what he is', () => {
    type Counted = { as: string; actor: { type: string; id: string } | null; ip: string }
    expect(collides('rate', (input) => `${(input as Counted).actor?.type} ${(input as Counted).actor?.id ?? (input as Counted).ip}`)).toBe(
      true,
    )
    expect(collides('rate', (input) => `${(input as Counted).as} ${(input as Counted).actor?.id ?? (input as Counted).ip}`)).toBe(true)
  })
})
