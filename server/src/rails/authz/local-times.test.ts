import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { localTimes } from './local-times.ts'

const localTime = (time: unknown, zone: string) => localTimes(time, [zone]).get(zone)

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

  test('DE-01 an instant is resolved in each zone that is named, and in no other', () => {
    const noon = '2026-11-16T12:00:00Z'
    expect([...localTimes(noon, ['UTC', 'Asia/Tokyo'])]).toEqual([
      ['UTC', { minute_of_day: 720, weekday: 1 }],
      ['Asia/Tokyo', { minute_of_day: 1260, weekday: 1 }],
    ])
  })

  test('DE-13 a clock that was read before shows each instant as if it were the first', () => {
    const at = (seconds: string) => localTime(`2026-11-16T12:${seconds}Z`, 'Asia/Tokyo')?.minute_of_day
    expect(['00:59.999', '01:00.000', '00:59.000', '01:00.999', '01:01.000'].map(at)).toEqual([1260, 1261, 1260, 1261, 1261])
  })
})
