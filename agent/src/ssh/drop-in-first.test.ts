import { expect, test } from 'vitest'
import { isMatchedBefore } from './sshd.ts'

test.for([
  ['Include /etc/ssh/sshd_config.d/*.conf\nMatch Address 10.0.0.0/8\n', false],
  ['# Match all\ninclude "sshd_config.d/*.conf"\nMatch all\n', false],
  ['Match Address 10.0.0.0/8\n  AuthorizedKeysFile /tmp/k\nMatch all\nInclude /etc/ssh/sshd_config.d/*.conf\n', true],
] as const)('SG-15 nothing speaks of some addresses before our file does: %s', ([config, is_before]) => {
  expect(isMatchedBefore(config, '/etc/ssh/sshd_config.d/00-gatehouse.conf')).toBe(is_before)
})
