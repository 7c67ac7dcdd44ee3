import { randomUUID } from 'node:crypto'
import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import { expect, test } from 'vitest'
import { newKeyLine } from '../../../test/ssh-key-lines.ts'
import { keysText, overIn } from './keys-file.ts'
import { fingerprintOf } from './sessions.ts'

const holder = (grant_id: string | null) => ({ grant_id, ssh_key_id: randomUUID(), user_id: randomUUID(), expires_at: null })
const keyOf = (holders: readonly ReturnType<typeof holder>[]): DesiredKey => {
  const [key_type, blob] = newKeyLine().split(' ')
  return { key_type, blob, fingerprint: `SHA256:${'a'.repeat(43)}`, expires_at: null, holders } as DesiredKey
}

test('SG-14 a key stands there once, with the id of what it is there for, however many hold it', () => {
  const [own, granted] = [holder(null), holder(randomUUID())]
  const keys = [keyOf([own]), keyOf([granted]), keyOf([granted, ...Array.from({ length: 999 }, () => holder(randomUUID()))])]
  const [first, second, ...lines] = keysText(keys, 7).trimEnd().split('\n')
  expect([first, second]).toEqual([expect.stringMatching(/^# /), '# generation 7'])
  expect(lines).toEqual([
    `${keys[0]!.key_type} ${keys[0]!.blob} gatehouse:${own.ssh_key_id}`,
    `${keys[1]!.key_type} ${keys[1]!.blob} gatehouse:${granted.grant_id}`,
    `${keys[2]!.key_type} ${keys[2]!.blob} gatehouse:${granted.grant_id}.and-999-more`,
  ])
})

test('SG-19 a file says which of its keys are past their time, from their end on', () => {
  const [own, ending, later] = [keyOf([holder(null)]), keyOf([holder(randomUUID())]), keyOf([holder(randomUUID())])]
  const keys = [own, { ...ending, expires_at: '2026-03-04T05:06:07.000Z' }, { ...later, expires_at: '2026-03-04T06:00:00.000Z' }]
  const overAt = (now: string) => [...overIn(keysText(keys as DesiredKey[], 3), new Date(now))]
  expect(overAt('2026-03-04T05:06:06.999Z')).toEqual([])
  expect(overAt('2026-03-04T05:06:07.000Z')).toEqual([fingerprintOf(ending.blob)])
  expect(overAt('2026-03-04T06:00:00.000Z')).toEqual([fingerprintOf(ending.blob), fingerprintOf(later.blob)])
})
