import { expect, test } from 'vitest'
import { isMatchedBefore, matchesBeside } from './sshd.ts'

test.for([
  ['Include /etc/ssh/sshd_config.d/*.conf\nMatch Address 10.0.0.0/8\n', false],
  ['# Match all\ninclude "sshd_config.d/*.conf"\nMatch all\n', false],
  ['Match Address 10.0.0.0/8\n  AuthorizedKeysFile /tmp/k\nMatch all\nInclude /etc/ssh/sshd_config.d/*.conf\n', true],
] as const)('SG-15 nothing speaks of some addresses before our file does: %s', ([config, is_before]) => {
  expect(isMatchedBefore(config, '/etc/ssh/sshd_config.d/00-gatehouse.conf')).toBe(is_before)
})

test('SG-15 nor does a file beside ours that sshd reads before it', () => {
  const files: Record<string, string> = {
    '00-first.conf': 'PasswordAuthentication no\n  match Address 10.0.0.0/8\n  AuthorizedKeysFile .ssh/authorized_keys\n',
    '00-gatehouse.conf': 'Match Group gatehouse-managed\n',
    '50-cloud-init.conf': 'Match Address 10.0.0.0/8\n',
    README: 'Match all',
  }
  const read = (name: string) => files[name]!
  expect(matchesBeside(Object.keys(files), '00-gatehouse.conf', read)).toBe(true)
  expect(matchesBeside(Object.keys(files).slice(1), '00-gatehouse.conf', read)).toBe(false)
})
