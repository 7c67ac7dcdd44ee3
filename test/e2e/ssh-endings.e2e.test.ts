import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { prepareSshd } from '../../agent/src/ssh/sshd.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { logIn, stayIn } from '../ssh/client.ts'
import { desired, type SshStage, sshStage } from '../ssh/stage.ts'

const twoPeople = async (stage: SshStage) => {
  const account = await stage.account()
  const [owner, member] = [stage.pair('owner'), stage.pair('member')]
  const set = { owner: desired(owner), member: desired(member) }
  await account.install([set.owner, set.member])
  return { account, owner, member, set }
}
const withStage = async (changed: Parameters<typeof sshStage>[0], act: (stage: SshStage) => Promise<void>) => {
  const stage = await sshStage(changed)
  try {
    await act(stage)
  } finally {
    await stage.stop()
  }
}

describe.skipIf(!hasPart('sshd'))('what is to end ends, whatever else cannot be done (needs sshd)', () => {
  test('SG-19 S15 who fills the disk is out when his key goes (needs sshd)', async () => {
    const disk = mkdtempSync('/var/lib/gatehouse-test-full-')
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'mode=0755,size=64m,nr_inodes=300', 'none', disk])
    const places = { keys_dir: join(disk, 'keys'), sessions_dir: join(disk, 'sessions'), homes_dir: join(disk, 'homes') }
    for (const each of Object.values(places)) mkdirSync(each, { mode: each === places.sessions_dir ? 0o700 : 0o755 })
    try {
      await withStage(places, async (stage) => {
        const { account, member, set } = await twoPeople(stage)
        const there = await stayIn(stage.sshd, account.username, member)
        there.say('i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; echo full')
        expect(await there.next()).toContain('full')
        await expect(account.install([set.owner])).rejects.toThrow('disk_full')
        await there.ended
        expect(existsSync(join(places.keys_dir, account.username))).toBe(false)
        expect(await logIn(stage.sshd, account.username, member)).toMatchObject({ code: 255 })
        // Nothing could be told of it; but what filled the disk is gone, and so there is room for the same again.
        await expect(account.remove()).rejects.toThrow('no space left')
        expect(existsSync(join(places.homes_dir, account.username))).toBe(false)
        await account.remove()
      })
    } finally {
      execFileSync('/usr/bin/umount', ['-l', disk])
      rmdirSync(disk)
    }
  })

  test('SG-19 S15 who fills the disk and waits for the agent to be started anew is out when his key goes (needs sshd)', async () => {
    const disk = mkdtempSync('/var/lib/gatehouse-test-full-')
    execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'mode=0755,size=64m,nr_inodes=300', 'none', disk])
    const places = { keys_dir: join(disk, 'keys'), sessions_dir: join(disk, 'sessions'), homes_dir: join(disk, 'homes') }
    for (const each of Object.values(places)) mkdirSync(each, { mode: each === places.sessions_dir ? 0o700 : 0o755 })
    try {
      await withStage(places, async (stage) => {
        const { account, member, set } = await twoPeople(stage)
        const node_id = randomUUID()
        await stage.hands.putAway(node_id, () => true)
        const there = await stayIn(stage.sshd, account.username, member)
        there.say('i=0; while : > f$i; do i=$((i+1)); done 2>/dev/null; echo full')
        expect(await there.next()).toContain('full')
        const anew = await stage.otherHands()
        expect(await anew.putAway(node_id, () => true)).toEqual([])
        const { allocation_id, username } = account
        const params = { allocation_id, username, keys: [set.owner], set_hash: 'h'.repeat(43) } as never
        await expect(anew.installKeys(params, 3)).rejects.toThrow('disk_full')
        await there.ended
        expect(await logIn(stage.sshd, username, member)).toMatchObject({ code: 255 })
      })
    } finally {
      execFileSync('/usr/bin/umount', ['-l', disk])
      rmdirSync(disk)
    }
  })

  test('SG-19 who is in when the account is taken away by hand is out when his key goes or ends (needs sshd)', async () => {
    await withStage({}, async (stage) => {
      const { account, owner, member, set } = await twoPeople(stage)
      const soon = new Date(Date.now() + 3600_000)
      const hers = desired(owner, soon.toISOString())
      await account.install([hers, set.member])
      const [she, he] = [await stayIn(stage.sshd, account.username, owner), await stayIn(stage.sshd, account.username, member)]
      execFileSync('/usr/sbin/userdel', ['-f', account.username], { stdio: 'ignore' })
      await expect(account.install([hers])).rejects.toThrow('no_such_account')
      await he.ended
      she.say('echo still here')
      expect(await she.next()).toBe('still here')
      await expect(account.drift(new Date(soon.getTime() + 1000))).rejects.toThrow('no_such_account')
      await she.ended
      await account.remove()
    })
  })

  test('SG-19 who is in when what the hook wrote is taken away, or the file of keys is a folder, is out when his key goes (needs sshd)', async () => {
    await withStage({}, async (stage) => {
      const { account, member, set } = await twoPeople(stage)
      const { keys_dir, sessions_dir } = stage.sshd.layout
      const first = await stayIn(stage.sshd, account.username, member)
      rmSync(sessions_dir, { recursive: true })
      await account.install([set.owner])
      await first.ended
      await account.install([set.owner, set.member])
      const second = await stayIn(stage.sshd, account.username, member)
      rmSync(join(keys_dir, account.username))
      mkdirSync(join(keys_dir, account.username))
      await expect(account.install([set.owner])).rejects.toThrow('keys_not_written')
      await second.ended
      rmdirSync(join(keys_dir, account.username))
      await account.remove()
    })
  })

  test('SG-19 who is in when the account is taken away by hand is out when it is released (needs sshd)', async () => {
    await withStage({}, async (stage) => {
      const { account, owner } = await twoPeople(stage)
      const there = await stayIn(stage.sshd, account.username, owner)
      execFileSync('/usr/sbin/userdel', ['-f', account.username], { stdio: 'ignore' })
      expect((await account.remove()).sessions_ended).toMatchObject([{ fingerprint: owner.fingerprint }])
      await there.ended
    })
  })

  const processes = '/sys/fs/cgroup/pids'
  test.skipIf(!existsSync(processes))('SG-19 a key and its sessions go where no process can be started (needs sshd)', async () => {
    await withStage({}, async (stage) => {
      const { account, member, set } = await twoPeople(stage)
      const there = await stayIn(stage.sshd, account.username, member)
      const bound = `${processes}/gatehouse-test-${process.pid}`
      mkdirSync(bound)
      try {
        writeFileSync(`${bound}/cgroup.procs`, `${process.pid}`)
        writeFileSync(`${bound}/pids.max`, readFileSync(`${bound}/pids.current`, 'utf8').trim())
        await account.install([set.owner]).catch(() => {})
        await there.ended
        expect(readFileSync(join(stage.sshd.layout.keys_dir, account.username), 'utf8')).not.toContain(member.blob)
      } finally {
        writeFileSync(`${bound}/pids.max`, 'max')
        writeFileSync(`${processes}/cgroup.procs`, `${process.pid}`)
      }
      rmdirSync(bound)
      await account.remove()
    })
  })

  test('SG-19 a receipt says that something may go on where others are in (needs sshd)', async () => {
    await withStage({}, async (stage) => {
      const { account, owner, set } = await twoPeople(stage)
      expect((await account.install([set.owner])).may_have_left_processes).toBe(false)
      const there = await stayIn(stage.sshd, account.username, owner)
      expect((await account.install([set.owner])).may_have_left_processes).toBe(true)
      await account.remove()
      await there.ended
    })
  })

  test('SG-21 nobody chooses what the hook runs by a file that PAM includes (needs sshd)', async () => {
    const included = `/etc/pam.d/gatehouse-test-${process.pid}`
    try {
      await withStage({}, async (stage) => {
        const { pam } = stage.sshd.layout.sshd
        writeFileSync(included, 'session required pam_env.so user_readenv=1\n')
        const lines = readFileSync('/etc/pam.d/sshd', 'utf8')
          .split('\n')
          .filter((line) => !line.includes('pam_env'))
        writeFileSync(pam, `${lines.join('\n')}\n@include ${included.split('/').at(-1)}\n`)
        await prepareSshd(stage.sshd.layout)
        const told = readFileSync(pam, 'utf8')
        expect(told.indexOf('pam_exec.so')).toBeLessThan(told.indexOf(`@include ${included.split('/').at(-1)}`))
        const { account, member } = await twoPeople(stage)
        const log = join(stage.sshd.folder, 'homes', account.username, 'loaded')
        const plant = `printf 'LD_DEBUG DEFAULT=files\\nLD_DEBUG_OUTPUT DEFAULT=${log}\\n' > .pam_environment`
        await logIn(stage.sshd, account.username, member, plant)
        const seen = await logIn(stage.sshd, account.username, member, `find . -name 'loaded*' -user root`)
        expect(seen).toMatchObject({ code: 0, said: '' })
        await account.remove()
      })
    } finally {
      rmSync(included, { force: true })
    }
  })
})
