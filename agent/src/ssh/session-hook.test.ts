import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
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
  // Whoever asks must be an sshd of root's.
  beforeEach(() => {
    for (const name of ['sshd', 'another']) copyFileSync('/bin/sh', join(folder, name))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  /** Whether the process that serves the connection lives on. */
  const letsIn = (line: string, parent = 'sshd', as: { uid?: number; gid?: number } = {}): boolean => {
    writeFileSync(join(folder, 'keys', 'gh-abcdef'), `# generation 1\n${line}\n`)
    const env = {
      PATH: '/usr/bin:/bin',
      PAM_TYPE: 'open_session',
      PAM_USER: 'gh-abcdef',
      SSH_AUTH_INFO_0: 'publickey ssh-ed25519 AAAAmine',
    }
    return spawnSync(join(folder, parent), ['-c', '"$0"; true', join(folder, 'hook')], { env, ...as }).status === 0
  }
  const at = (ms: number) => new Date(Date.now() + ms).toISOString().replaceAll(/[-T:]|\.\d+/g, '')

  test('SG-19 lets in with a key of the file, and with no other', () => {
    expect(['ssh-ed25519 AAAAmine of', 'ssh-ed25519 AAAAmineandmore of', ''].map((line) => letsIn(line))).toEqual([true, false, false])
  })

  test('SG-19 a key whose end came while somebody logged in does not let in', () => {
    const until = (end: string) => letsIn(`expiry-time="${end}" ssh-ed25519 AAAAmine of`)
    expect([at(60_000), at(-2000), 'soon', ''].map(until)).toEqual([true, false, false, false])
  })

  test('SG-27 the end counts also where the line says that the key verifies', () => {
    const until = (end: string) => letsIn(`verify-required,expiry-time="${end}" ssh-ed25519 AAAAmine of`)
    expect([at(60_000), at(-2000)].map(until)).toEqual([true, false])
  })

  test('SG-26 where no sshd of root’s asks, nothing is written and nobody is ended', () => {
    for (const path of [folder, join(folder, 'keys'), join(folder, 'sessions')]) chmodSync(path, 0o777)
    chmodSync(join(folder, 'hook'), 0o755)
    // With a key that would be refused: an sshd would be ended for it.
    expect(letsIn('', 'another')).toBe(true)
    expect(letsIn('', 'sshd', { uid: 65_534, gid: 65_534 })).toBe(true)
    expect(readdirSync(join(folder, 'sessions'))).toEqual([])
    expect(letsIn('', 'sshd')).toBe(false)
  })

  test('SG-28 the bound on processes is the account’s own, by its number', () => {
    writeFileSync(join(folder, 'sessions', '.bounds-gh-abcdef'), '3 77\n')
    writeFileSync(join(folder, 'keys', 'gh-abcdef'), 'ssh-ed25519 AAAAmine of\n')
    const env = {
      PATH: '/usr/bin:/bin',
      PAM_TYPE: 'open_session',
      PAM_USER: 'gh-abcdef',
      SSH_AUTH_INFO_0: 'publickey ssh-ed25519 AAAAmine',
    }
    const { stdout } = spawnSync(join(folder, 'sshd'), ['-c', '"$0"; grep processes /proc/$$/limits', join(folder, 'hook')], {
      env,
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^Max processes +77 +77 /)
  })
})
