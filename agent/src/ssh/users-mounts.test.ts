import { expect, test } from 'vitest'
import { mountsOf } from './users-mounts.ts'

test('SG-24 what an account mounted by itself is found by its number, the innermost first; others’ and the system’s are not', () => {
  const mounts = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '90 22 0:51 / /srv/homes/gh-abcdef/m rw,nosuid,nodev shared:2 - fuse.sshfs x:/ rw,user_id=66001,group_id=66001',
    '91 90 0:52 / /srv/homes/gh-abcdef/m/in\\040it rw,nosuid,nodev - fuse x rw,user_id=66001,group_id=66001',
    '92 22 0:53 / /srv/homes/gh-other/m rw - fuse.sshfs y:/ rw,user_id=66002,group_id=66001',
    '93 22 0:54 / /run/user/66001 rw - tmpfs tmpfs rw,user_id=66001',
    '',
  ].join('\n')
  expect(mountsOf(mounts, 66_001)).toEqual(['/srv/homes/gh-abcdef/m/in it', '/srv/homes/gh-abcdef/m'])
  expect(mountsOf(mounts, 6600)).toEqual([])
})
