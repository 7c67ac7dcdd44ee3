import { attributeNames } from '@gatehouse/contract/conditions'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { type Action, actions } from './actions.ts'
import { attributesIn, carriedBy, localTime, localTimes } from './attributes.ts'

/** There, and nobody can read it. */
const unreadable = { minute_of_day: Number.NaN, weekday: Number.NaN }

describe('which minute and weekday it is', () => {
  test.each([
    ['2026-11-16T12:00:00Z', 'UTC', 720, 1],
    ['2026-11-16T12:00:00.999Z', 'UTC', 720, 1],
    ['2026-11-15T23:59:59Z', 'UTC', 1439, 7],
    ['2026-11-16T00:00:00Z', 'UTC', 0, 1],
    ['2026-11-16T01:00:00+02:00', 'UTC', 1380, 7],
    ['2026-11-16T12:00:00+23:00', 'UTC', 780, 7],
    ['2026-11-15T16:00:00Z', 'Asia/Tokyo', 60, 1],
    ['2026-11-16T12:00:00Z', 'Asia/Kolkata', 1050, 1],
    ['2026-11-16T12:00:00Z', 'America/New_York', 420, 1],
    // The clocks of Berlin go forward from 02:00 to 03:00 and back from 03:00 to 02:00.
    ['2026-03-29T00:59:00Z', 'Europe/Berlin', 119, 7],
    ['2026-03-29T01:00:00Z', 'Europe/Berlin', 180, 7],
    ['2026-10-25T00:30:00Z', 'Europe/Berlin', 150, 7],
    ['2026-10-25T01:30:00Z', 'Europe/Berlin', 150, 7],
    ['2024-02-29T10:00:00Z', 'UTC', 600, 4],
  ])('DE-10 %s in %s', (time, zone, minute_of_day, weekday) => {
    expect(localTime(time, zone)).toEqual({ minute_of_day, weekday })
  })

  test.each([
    ['no instant', undefined],
    ['null', null],
    ['a number', 1_794_830_400_000],
    ['a day', '2026-11-16'],
    ['an instant without a zone', '2026-11-16T12:00:00'],
    ['a month that is none', '2026-13-01T00:00:00Z'],
    ['a day that is in no calendar', '2026-02-30T00:00:00Z'],
    ['a list of one instant', ['2026-11-16T12:00:00Z']],
    ['a year of six digits', '+002026-11-16T12:00:00Z'],
    ['a leap second', '2026-12-31T23:59:60Z'],
    ['an offset that is none', '2026-11-16T12:00:00+99:99'],
    ['text around it', ' 2026-11-16T12:00:00Z'],
    ['a line after it', '2026-11-16T12:00:00Z\n'],
    ['ten megabytes', '2'.repeat(10_000_000)],
  ])('DE-23 D3 %s is no time', (_name, time) => {
    expect(localTime(time, 'UTC')).toEqual(unreadable)
  })

  test.each(['Mars/Olympus', '', 'UTC; drop', 'Europe'])('DE-23 in a zone called "%s" it is no time', (zone) => {
    expect(localTime('2026-11-16T12:00:00Z', zone)).toEqual(unreadable)
  })

  test('DE-10 a zone is one zone however its letters are written, so that no rule can make what is kept of zones grow', () => {
    const formats = vi.spyOn(Intl, 'DateTimeFormat')
    for (const zone of ['Pacific/Chatham', 'pacific/chatham', 'PACIFIC/CHATHAM', 'pAcIfIc/cHaThAm'])
      expect(localTime('2026-11-16T12:00:00Z', zone)).toEqual({ minute_of_day: 105, weekday: 2 })
    expect(formats).toHaveBeenCalledTimes(1)
    formats.mockRestore()
  })

  test('DE-13 whatever stands for an instant and a zone, there is an answer in bounds or none', () => {
    const zone = fc.oneof(fc.constantFrom('UTC', 'Asia/Tokyo', 'Pacific/Apia'), fc.string())
    const time = fc.oneof(
      fc.anything(),
      fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString()),
    )
    fc.assert(
      fc.property(time, zone, (said, where) => {
        const { minute_of_day, weekday } = localTime(said, where) as { minute_of_day: number; weekday: number }
        if (Number.isNaN(minute_of_day)) return Number.isNaN(weekday)
        return minute_of_day >= 0 && minute_of_day <= 1439 && weekday >= 1 && weekday <= 7
      }),
    )
  })

  test('DE-10 in UTC it is what the instant itself says', () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }), (date) => {
        const said = { minute_of_day: date.getUTCHours() * 60 + date.getUTCMinutes(), weekday: date.getUTCDay() || 7 }
        expect(localTime(date.toISOString(), 'UTC')).toEqual(said)
      }),
    )
  })
})

describe('what a request says of itself', () => {
  const said = { region: 'eu', gpus: 8, time: '2026-11-16T12:00:00Z', actor_type: 'user' }

  const times = localTimes(said.time, ['UTC', 'Asia/Tokyo'])

  test('DE-01 an instant is resolved in each zone that is named, and in no other', () => {
    expect([...times]).toEqual([
      ['UTC', { minute_of_day: 720, weekday: 1 }],
      ['Asia/Tokyo', { minute_of_day: 1260, weekday: 1 }],
    ])
    expect([...localTimes(said.time, [])]).toEqual([])
  })

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
