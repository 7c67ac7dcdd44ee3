import { attributeNames } from '@gatehouse/contract/conditions'
import { describe, expect, test } from 'vitest'
import { type Action, actions } from './actions.ts'
import { attributesIn, carriedBy } from './attributes.ts'
import { localTimes } from './local-times.ts'

/** There, and nobody can read it. */
const unreadable = { minute_of_day: Number.NaN, weekday: Number.NaN }

describe('what a request says of itself', () => {
  const said = { region: 'eu', gpus: 8, time: '2026-11-16T12:00:00Z', actor_type: 'user' }
  const times = localTimes(said.time, ['UTC', 'Asia/Tokyo'])

  test('DE-01 it is handed on as it was said, with the time of the zone that is asked for', () => {
    const inZone = attributesIn(said, times)
    expect(inZone('UTC')).toEqual({ region: 'eu', gpus: 8, actor_type: 'user', minute_of_day: 720, weekday: 1 })
    expect(inZone('Asia/Tokyo')).toMatchObject({ minute_of_day: 1260 })
    expect(inZone('UTC')).not.toHaveProperty('time')
  })

  test('DE-13 asked again for the same zone it is the same', () => {
    const inZone = attributesIn(said, times)
    expect(inZone('UTC')).toBe(inZone('UTC'))
  })

  test('DE-23 a time that nobody can read is there and unreadable, and nothing else is lost', () => {
    expect(attributesIn({ region: 'eu', time: 'soon' }, localTimes('soon', ['UTC']))('UTC')).toEqual({ region: 'eu', ...unreadable })
  })

  test('DE-23 in a zone for which nobody resolved it, it is unreadable, too', () => {
    expect(attributesIn(said, times)('Europe/Berlin')).toMatchObject({ region: 'eu', ...unreadable })
  })
})

describe('what an action carries', () => {
  const always = ['source_ip', 'minute_of_day', 'weekday', 'resource_type', 'actor_type']
  const sorted = (action: Action) => [...carriedBy(action)].sort()

  test('DE-01 every action carries the address, the time and the two types, and nothing that is no attribute', () => {
    for (const action of Object.keys(actions) as Action[]) {
      expect(sorted(action)).toEqual(expect.arrayContaining(always))
      expect(attributeNames).toEqual(expect.arrayContaining(sorted(action)))
    }
  })

  test('DE-01 what runs on machines carries region, model, size and flags; what is stored, region and flags; the rest, none', () => {
    expect(sorted('allocation.create')).toEqual([...always, 'region', 'sku', 'gpus', 'flags'].sort())
    expect(sorted('workload.manage')).toEqual(sorted('allocation.create'))
    expect(sorted('storage.write')).toEqual([...always, 'region', 'flags'].sort())
    expect(sorted('tenant.update')).toEqual([...always].sort())
    expect(sorted('platform.admin')).toEqual([...always].sort())
  })
})
