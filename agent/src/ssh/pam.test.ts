import { describe, expect, test } from 'vitest'
import { type Layout, usualLayout } from './layout.ts'
import { faultOfHook, type Included, withHook as placed, withoutHook } from './pam.ts'

const debian = `@include common-auth
account    required     pam_nologin.so
# session  required     pam_env.so in a comment
session    required     pam_loginuid.so
@include common-session
session    required     pam_limits.so
session    required     pam_env.so # [1]
session    required     pam_env.so user_readenv=1 envfile=/etc/default/locale
@include common-password
`
const files: Record<string, string> = {
  'common-auth': 'auth required pam_unix.so',
  'common-password': 'password required pam_unix.so',
  'common-session': 'session required pam_unix.so\nsession optional pam_systemd.so',
  env: 'session required pam_env.so user_readenv=1',
  deeper: '# nothing\nsession substack env',
  'auth-env': 'auth required pam_env.so user_readenv=1',
  'moved-late': 'session required pam_env.so user_readenv=1\nsession optional pam_systemd.so',
  'moved-plain': 'session required pam_env.so\nsession optional pam_systemd.so',
  round: '@include round',
}
const included: Included = (name) => {
  if (files[name] === undefined) throw new Error('pam_not_understood')
  return files[name]
}
const withHook = (pam: string, layout: Layout) => placed(pam, layout, included)
const faultIn = (pam: string) => faultOfHook(withHook(pam, usualLayout), usualLayout, included)
const plain = `auth required pam_deny.so\nsession required pam_permit.so`

describe('the file in which PAM is told of the hook', () => {
  test('SG-21 the hook comes before whatever users can write, and after what moves a session', () => {
    const lines = withHook(debian, usualLayout).split('\n')
    const at = (part: string) => lines.findIndex((line) => line.includes(part) && !line.startsWith('#'))
    expect(at('pam_exec.so')).toBeGreaterThan(at('common-session'))
    expect(at('pam_exec.so')).toBeLessThan(at('pam_env.so'))
    expect(at('pam_succeed_if.so')).toBe(at('pam_exec.so') - 1)
    expect(lines[at('pam_exec.so')]).toContain('type=open_session')
  })

  test.for([debian, plain])('SG-21 put there twice it stands there once, and taken out the file is as it was', (pam) => {
    const once = withHook(pam, usualLayout)
    expect(withHook(once, usualLayout)).toBe(once)
    expect(once.match(/pam_exec/g)).toHaveLength(1)
    expect(withoutHook(once).trimEnd()).toBe(pam.trimEnd())
  })

  test('SG-21 one that stands in the wrong place is not in order', () => {
    const hook = withHook(plain, usualLayout).slice(plain.length + 1)
    expect(withHook(`${debian}${hook}`, usualLayout)).not.toBe(`${debian}${hook}`)
  })

  test('SG-21 that users have their say before any session is seen', () => {
    const early = `auth required pam_env.so user_readenv=1\n${debian}`
    expect([early, debian, plain].map(faultIn)).toEqual(['pam_trusts_users', null, null])
    expect(faultIn(`# auth required pam_env.so user_readenv=1\n${debian}`)).toBe(null)
    // Also where it is written below: PAM asks who it is before it opens a session.
    expect(faultIn(`${plain}\nauth required pam_env.so user_readenv=1\n`)).toBe('pam_trusts_users')
    expect(faultIn(`${plain}\n@include auth-env\n`)).toBe('pam_trusts_users')
  })

  test.for(['@include env', 'session include env', '-session  substack  env', '@include deeper', 'session \\\n include deeper'])(
    'SG-21 what users can write comes after the hook also where it lies in another file: %s',
    (line) => {
      const pam = `${plain}\n@include common-session\n${line}\nsession required pam_limits.so\n`
      const told = withHook(pam, usualLayout)
      expect(told.indexOf('pam_exec.so')).toBeGreaterThan(told.indexOf('common-session'))
      expect(told.indexOf('pam_exec.so')).toBeLessThan(told.indexOf(line))
      expect([faultIn(pam), withHook(told, usualLayout)]).toEqual([null, told])
    },
  )

  test('SG-21 where users have their say before sessions get a group there is no place for the hook', () => {
    expect(faultIn(`${plain}\n@include moved-late\n`)).toBe('pam_moves_sessions')
    // What no user wrote may be read before.
    const told = withHook(`${plain}\n@include moved-plain\n`, usualLayout)
    expect([told.indexOf('pam_exec.so') > told.indexOf('moved-plain'), faultIn(told)]).toEqual([true, null])
  })

  test.for(['@include nowhere', 'session include nowhere', '@include round'])(
    'SG-21 what cannot be read through is refused: %s',
    (line) => {
      expect(() => withHook(`${plain}\n${line}\n`, usualLayout)).toThrow('pam_not_understood')
    },
  )
})
