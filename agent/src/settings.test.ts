import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import packaged from '../package.json' with { type: 'json' }
import { readEnrolmentToken } from './enrolment-token.ts'
import { pauseAfter } from './pauses.ts'
import { readCommand } from './settings.ts'
import { agent_version } from './version.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-settings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const config = (text: string) => {
  const path = join(folder, 'agent.json')
  writeFileSync(path, text)
  return path
}

describe('settings', () => {
  test('flags go before the file, and the file before what is usual', () => {
    const file = config('{"state_dir": "/a", "url": "https://here", "layout": {"group": "ours", "sshd": {"program": "/s"}}}')
    expect(readCommand(['run', '--config', file]).settings).toMatchObject({ state_dir: '/a', url: 'https://here' })
    expect(readCommand(['run', '--config', file, '--state', '/b']).settings.state_dir).toBe('/b')
    const { layout } = readCommand(['run', '--config', file]).settings
    expect([layout.group, layout.homes_dir, layout.sshd.program, layout.sshd.config]).toEqual([
      'ours',
      '/home',
      '/s',
      '/etc/ssh/sshd_config',
    ])
  })

  test.for([
    ['a setting that is none', '{"stat_dir": "/a"}', 'has a setting that is none: stat_dir'],
    ['what is not JSON', '{', 'is not JSON'],
    ['an address without TLS', '{"url": "http://here"}', 'must be an https address'],
  ])('%s is refused', ([, text, sentence]) => {
    expect(() => readCommand(['run', '--config', config(text!)])).toThrow(sentence)
  })

  test('a file that was named must be there', () => {
    expect(() => readCommand(['run', '--config', join(folder, 'none')])).toThrow('cannot be read')
  })

  test('the version is that of the package', () => {
    expect(agent_version).toBe(packaged.version)
  })
})

describe('an enrolment token', () => {
  const token = (told: object) => `ghne_${Buffer.from(JSON.stringify(told)).toString('base64url')}`
  const told = { v: 1, url: 'https://here', node_id: '00000000-0000-7000-8000-0000000000aa', secret: 'hush-hush', ca: 'x' }
  test.for([
    ['what is none', 'hush-hush', 'this is no enrolment token'],
    ['one of a newer kind', token({ ...told, v: 2 }), 'newer kind'],
    ['one that leads elsewhere than to TLS', token({ ...told, url: 'http://here' }), 'no https address'],
    ['one for no node', token({ ...told, node_id: '../x' }), 'this is no enrolment token'],
  ])('SG-22 %s is refused, without saying what was in it', ([, text, sentence]) => {
    expect(() => readEnrolmentToken(text!)).toThrow(sentence)
    expect(() => readEnrolmentToken(text!)).not.toThrow('hush-hush')
  })
})

test('pauses grow up to their bound, and are never all of one length', () => {
  expect([1, 2, 3, 8, 100].map((failures) => pauseAfter(failures, 30_000, () => 1))).toEqual([500, 1000, 2000, 30_000, 30_000])
  expect(pauseAfter(3, 30_000, () => 0)).toBe(1000)
})
