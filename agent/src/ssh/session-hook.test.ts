import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { usualLayout } from './layout.ts'
import { sessionHook } from './session-hook.ts'

describe('the hook', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-hook-'))
    for (const each of ['keys', 'sessions']) mkdirSync(join(folder, each))
    const layout = { ...usualLayout, keys_dir: join(folder, 'keys'), sessions_dir: join(folder, 'sessions') }
    writeFileSync(join(folder, 'hook'), sessionHook(layout), { mode: 0o700 })
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Whether the process that serves the connection lives on. */
  const letsIn = (line: string): boolean => {
    writeFileSync(join(folder, 'keys', 'gh-abcdef'), `# generation 1\n${line}\n`)
    const env = {
      PATH: '/usr/bin:/bin',
      PAM_TYPE: 'open_session',
      PAM_USER: 'gh-abcdef',
      SSH_AUTH_INFO_0: 'publickey ssh-ed25519 AAAAmine',
    }
    return spawnSync('/bin/sh', ['-c', '"$0"; true', join(folder, 'hook')], { env }).status === 0
  }
  const at = (ms: number) => new Date(Date.now() + ms).toISOString().replaceAll(/[-T:]|\.\d+/g, '')

  test('SG-19 lets in with a key of the file, and with no other', () => {
    expect(['ssh-ed25519 AAAAmine of', 'ssh-ed25519 AAAAmineandmore of', ''].map(letsIn)).toEqual([true, false, false])
  })

  test('SG-19 a key whose end came while somebody logged in does not let in', () => {
    const until = (end: string) => letsIn(`expiry-time="${end}" ssh-ed25519 AAAAmine of`)
    expect([at(60_000), at(-2000), 'soon', ''].map(until)).toEqual([true, false, false, false])
  })
})
