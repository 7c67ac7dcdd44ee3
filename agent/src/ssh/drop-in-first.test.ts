import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { isMatchedBefore } from './sshd-includes.ts'

const drop_in = '/etc/ssh/sshd_config.d/00-gatehouse.conf'
const main = '/etc/ssh/sshd_config'
/** Whether somebody is spoken of before our file, where these are the files that sshd reads. */
const isBefore = (texts: Record<string, string>) => {
  const all: Record<string, string> = { [drop_in]: 'Match Group gatehouse-managed\n', ...texts }
  return isMatchedBefore(main, drop_in, {
    read: (path) => all[path] ?? '',
    names: (folder) =>
      Object.keys(all)
        .filter((path) => dirname(path) === folder)
        .map((path) => path.slice(folder.length + 1)),
  })
}
const usual = 'Include /etc/ssh/sshd_config.d/*.conf\n'

test('SG-15 what speaks of somebody before our file would be taken first: it is found, wherever it stands', () => {
  expect(isBefore({ [main]: `${usual}Match User git\n  PermitTTY no\n` })).toBe(false)
  expect(isBefore({ [main]: `Match Address 10.0.0.0/8\n  AuthorizedKeysFile /keys/%u\nMatch all\n${usual}` })).toBe(true)
  expect(isBefore({ [main]: `  match user git\n${usual.replace('Include', 'include')}` })).toBe(true)
  expect(isBefore({ [main]: `Include "${drop_in}"\nMatch User git\n` })).toBe(false)
  expect(isBefore({ [main]: 'Match User git\nInclude /elsewhere/*.conf\n' })).toBe(false)
})

test('SG-15 the same of files beside ours, in the order of their names', () => {
  const beside = (name: string, text: string) => isBefore({ [main]: usual, [`/etc/ssh/sshd_config.d/${name}`]: text })
  expect(beside('00-a.conf', 'X11Forwarding no\n')).toBe(false)
  expect(beside('00-a.conf', 'X11Forwarding no\n  Match Address 10.0.0.0/8\n')).toBe(true)
  expect(beside('10-later.conf', 'Match Address 10.0.0.0/8\n')).toBe(false)
  expect(beside('00-a.txt', 'Match Address 10.0.0.0/8\n')).toBe(false)
})

test('SG-26 the same of files that those bring in, however deep, also by names beside sshd’s own', () => {
  const deep = {
    [main]: usual,
    '/etc/ssh/sshd_config.d/00-a.conf': 'Include more/*.conf\n',
    '/etc/ssh/more/x.conf': 'Include /opt/site/ssh\n',
  }
  expect(isBefore({ ...deep, '/opt/site/ssh': 'PermitRootLogin no\n' })).toBe(false)
  expect(isBefore({ ...deep, '/opt/site/ssh': 'Match Address 10.0.0.0/8\n' })).toBe(true)
  // One that brings in itself comes to an end.
  expect(isBefore({ ...deep, '/opt/site/ssh': 'Include /opt/site/ssh\n' })).toBe(false)
})
