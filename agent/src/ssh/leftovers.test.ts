import { expect, test } from 'vitest'
import { localMounts } from './leftovers.ts'

test('SG-23 leftovers are sought on what lies on this machine and can be written to, and nowhere else', () => {
  const mounts = [
    'proc /proc proc rw 0 0',
    'tmpfs /sys/fs/cgroup tmpfs rw 0 0',
    '/dev/vda / ext4 rw,relatime 0 0',
    '/dev/vdb /mnt/the\\040scratch xfs rw,noatime 0 0',
    '/dev/vdb /mnt/the\\040scratch xfs rw,noatime 0 0',
    '/dev/sr0 /media iso9660 ro 0 0',
    '/dev/vdc /opt/fixed ext4 ro,relatime 0 0',
    'files:/all /net nfs4 rw 0 0',
    'tmpfs /dev/shm tmpfs rw 0 0',
    '',
  ]
  expect(localMounts(mounts.join('\n'))).toEqual(['/', '/mnt/the scratch', '/dev/shm'])
})
