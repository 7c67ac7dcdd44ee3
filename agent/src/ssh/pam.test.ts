import { describe, expect, test } from 'vitest'
import { usualLayout } from './layout.ts'
import { trustsUsersBefore, withHook, withoutHook } from './pam.ts'

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
    expect([early, debian, plain].map((pam) => trustsUsersBefore(withHook(pam, usualLayout)))).toEqual([true, false, false])
    expect(trustsUsersBefore(`# auth required pam_env.so user_readenv=1\n${debian}`)).toBe(false)
  })
})
