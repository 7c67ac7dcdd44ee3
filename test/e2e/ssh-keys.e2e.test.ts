import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { DesiredKey } from '@gatehouse/contract/node-tasks'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { driftOf } from '../../agent/src/ssh/keys-file.ts'
import { withoutHook } from '../../agent/src/ssh/pam.ts'
import { allProcesses } from '../../agent/src/ssh/processes.ts'
import { dropIn, prepareSshd } from '../../agent/src/ssh/sshd.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { logIn, type Pair, stayIn } from '../ssh/client.ts'
import { privateSshd } from '../ssh/private-sshd.ts'
import { desired, newUsername, type SshStage, type StagedAccount, sshStage } from '../ssh/stage.ts'

const linkInstead = (file: string, elsewhere: string) => {
  rmSync(file)
  symlinkSync(elsewhere, file)
}
const refused = { code: 255, said: expect.stringContaining('Permission denied') }
const isIn = (username: string) => ({ code: 0, said: `in as ${username}` })

describe.skipIf(!hasPart('sshd'))('who logs in to an account of a node (needs sshd)', () => {
  let stage: SshStage
  beforeAll(async () => {
    stage = await sshStage()
  })
  afterAll(() => stage.stop())
  // Whatever a test broke is not the next one's.
  afterEach(() => prepareSshd(stage.sshd.layout))

  const keysFile = ({ username }: StagedAccount) => join(stage.sshd.layout.keys_dir, username)
  const homeOf = ({ username }: StagedAccount) => join(stage.sshd.layout.homes_dir, username)
  /** What an account writes at home; by its own number, as if it had done so itself. */
  const writeAtHome = async (account: StagedAccount, name: string, text: string, mode = 0o600) => {
    const { uid } = (await findAccount(account.username))!
    const path = join(homeOf(account), name)
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(path, text, { mode })
    for (const each of [join(path, '..'), path]) chownSync(each, uid, uid)
    return path
  }

  test('SG-15 a key lets in from when it is written until it is gone, whatever its type (needs sshd)', async () => {
    const account = await stage.account()
    const { sshd } = stage
    for (const type of ['ed25519', 'ecdsa', 'rsa']) {
      const pair = stage.pair('somebody', type)
      expect(await logIn(sshd, account.username, pair)).toEqual(refused)
      await account.install([desired(pair)])
      expect(await logIn(sshd, account.username, pair)).toEqual(isIn(account.username))
      await account.install([])
      expect(await logIn(sshd, account.username, pair)).toEqual(refused)
    }
    expect(stage.told.filter(({ kind }) => kind === 'drift_restored')).toEqual([])
  })

  test('SG-15 a key that has an end is refused by sshd itself from then on, also where nobody takes it away (needs sshd)', async () => {
    const account = await stage.account()
    const pair = stage.pair()
    await account.install([desired(pair, new Date(Date.now() + 3_600_000).toISOString())])
    expect(await logIn(stage.sshd, account.username, pair)).toEqual(isIn(account.username))
    await account.install([desired(pair, new Date(Date.now() - 1000).toISOString())])
    expect(await logIn(stage.sshd, account.username, pair)).toEqual(refused)
  })

  describe('S1 what was put into a key', () => {
    let account: StagedAccount
    let [own, second, ca, signed]: Pair[] = []
    /** A line with one more after it, and the owner's key as one that vouches for others. */
    let hostile: Record<'second' | 'authority', string>
    beforeAll(async () => {
      account = await stage.account()
      ;[own, second, ca, signed] = [stage.pair('own'), stage.pair('second'), stage.pair('ca'), stage.pair('signed')]
      execFileSync('/usr/bin/ssh-keygen', ['-q', '-s', ca!.file, '-I', 'anybody', '-n', account.username, `${signed!.file}.pub`])
      hostile = { second: `${own!.line}\n${second!.line}`, authority: `cert-authority ${ca!.line}` }
    })

    test('SG-14 S1 neither a second key nor an authority’s nor options get into the file (needs sshd)', async () => {
      const good = desired(own!)
      const bad: readonly Partial<DesiredKey>[] = [
        { blob: `${own!.blob} x\n${second!.key_type} ${second!.blob}` },
        { blob: `${own!.blob}\r${second!.line}` },
        { key_type: `cert-authority ${ca!.key_type}` as never },
        { key_type: `command="/bin/sh",environment="A=b" ${own!.key_type}` as never },
        { key_type: 'ssh-ed25519-cert-v01@openssh.com' as never },
        { key_type: 'ssh-rsa' },
        { expires_at: '2030-01-01T00:00:00.000Z",cert-authority,permitopen="' as never },
      ]
      await account.install([good])
      const before = readFileSync(keysFile(account), 'utf8')
      for (const each of bad) await expect(account.install([{ ...good, ...each }])).rejects.toThrow(/no line is written/)
      expect(readFileSync(keysFile(account), 'utf8')).toBe(before)
      expect(before.trim().split('\n')).toEqual([
        expect.stringMatching(/^#/),
        expect.stringMatching(/^# generation \d+$/),
        `${own!.key_type} ${own!.blob} gatehouse:${good.holders[0]!.grant_id}`,
      ])
      expect(await logIn(stage.sshd, account.username, own!)).toEqual(isIn(account.username))
      expect(await logIn(stage.sshd, account.username, second!)).toEqual(refused)
      expect(await logIn(stage.sshd, account.username, signed!)).toEqual(refused)
    })

    test('S1 an agent that writes the line as it came lets both in (needs sshd)', async () => {
      // The hook would catch them as well: it is taken out of the way, so that this is about the file.
      const { hook } = stage.sshd.layout
      const kept = readFileSync(hook, 'utf8')
      try {
        writeFileSync(hook, '#!/bin/sh\nexit 0\n')
        writeFileSync(keysFile(account), `${hostile.second}\n${hostile.authority}\n`)
        expect(await logIn(stage.sshd, account.username, second!)).toEqual(isIn(account.username))
        expect(await logIn(stage.sshd, account.username, signed!)).toEqual(isIn(account.username))
      } finally {
        writeFileSync(hook, kept)
      }
      // With the hook one whose key is in no line of ours does not get in even so.
      expect(await logIn(stage.sshd, account.username, signed!)).toMatchObject({ code: 255 })
    })
  })

  describe('S10 what an account plants at home', () => {
    let account: StagedAccount
    let [granted, planted]: Pair[] = []
    beforeAll(async () => {
      account = await stage.account()
      ;[granted, planted] = [stage.pair('granted'), stage.pair('planted')]
      await account.install([desired(granted!)])
      for (const name of ['authorized_keys', 'authorized_keys2']) await writeAtHome(account, `.ssh/${name}`, `${planted!.line}\n`)
    })

    test('SG-15 S10 a key in the home does not log in (needs sshd)', async () => {
      expect(await logIn(stage.sshd, account.username, planted!)).toEqual(refused)
      await account.install([])
      expect(await logIn(stage.sshd, account.username, planted!)).toEqual(refused)
    })

    test('S10 where sshd reads the file in the home, it does; that is found, undone and told (needs sshd)', async () => {
      const { layout } = stage.sshd
      const { hook } = layout
      const kept = readFileSync(hook, 'utf8')
      await account.install([desired(granted!)])
      writeFileSync(hook, '#!/bin/sh\nexit 0\n')
      writeFileSync(layout.sshd.drop_in, dropIn(layout).replace(/AuthorizedKeysFile .*/, 'AuthorizedKeysFile .ssh/authorized_keys'))
      process.kill(Number(readFileSync(layout.sshd.pid_file, 'utf8')), 'SIGHUP')
      await expect.poll(() => logIn(stage.sshd, account.username, planted!)).toEqual(isIn(account.username))
      // An account that sshd lets in by other keys is not said to be in order: not before it is.
      await account.install([desired(granted!)])
      expect(stage.told.at(-1)).toMatchObject({ kind: 'drift_restored', found: 'sshd_reads_more', allocation_id: account.allocation_id })
      expect([readFileSync(hook, 'utf8'), readFileSync(layout.sshd.drop_in, 'utf8')]).toEqual([kept, dropIn(layout)])
      await expect.poll(() => logIn(stage.sshd, account.username, planted!)).toEqual(refused)
      expect(await logIn(stage.sshd, account.username, granted!)).toEqual(isIn(account.username))
    })
  })

  describe('what an account writes at home for its environment', () => {
    /** A session of an account that would have it taken for another's, and programs of its own run by root. */
    const disguised = async () => {
      const account = await stage.account()
      const [own, other] = [stage.pair(), stage.pair('other')]
      await account.install([desired(own), desired(other)])
      const witness = join(homeOf(account), 'root-was-here')
      const program = await writeAtHome(account, 'bin/date', `#!/bin/sh\nid -u > ${witness}\n`, 0o755)
      for (const name of ['mkdir', 'mv', 'grep', 'rmdir']) symlinkSync(program, join(program, '..', name))
      const path = `${join(program, '..')}:/usr/bin:/bin`
      const lines = { PATH: path, SSH_AUTH_INFO_0: `publickey ${other.key_type} ${other.blob}`, LD_PRELOAD: program, IFS: '/' }
      const text = Object.entries(lines).map(([name, value]) => `${name} DEFAULT="${value}"\n`)
      await writeAtHome(account, '.pam_environment', text.join(''))
      const session = await stayIn(stage.sshd, account.username, own)
      session.say('echo $PATH')
      // It counts for the session itself, and so it would have for what comes later.
      expect(await session.next()).toBe(path)
      return { account, own, other, session, witness }
    }

    test('SG-19 SG-21 has no say in what root runs, nor in whose session it is (needs sshd)', async () => {
      const { account, own, other, session, witness } = await disguised()
      const done = await account.install([desired(other)])
      await session.ended
      expect(done.sessions_ended).toMatchObject([{ fingerprint: own.fingerprint }])
      expect(existsSync(witness)).toBe(false)
    })

    test('SG-21 where the hook is run after it was read, the session passes for another’s; that is found, and the hook put back (needs sshd)', async () => {
      const { layout } = stage.sshd
      const pam = readFileSync(layout.sshd.pam, 'utf8')
      const hook = pam.match(/^# gatehouse-agent: begin\n[\s\S]*^# gatehouse-agent: end\n/m)![0]
      const account = await stage.account()
      const [own, other] = [stage.pair(), stage.pair('other')]
      await account.install([desired(own), desired(other)])
      await writeAtHome(account, '.pam_environment', `SSH_AUTH_INFO_0 DEFAULT="publickey ${other.key_type} ${other.blob}"\n`)
      writeFileSync(layout.sshd.pam, `${withoutHook(pam)}${hook}`)
      const session = await stayIn(stage.sshd, account.username, own)
      await account.install([desired(other)])
      expect(session.isOpen()).toBe(true)
      expect(stage.told.at(-1)).toMatchObject({ kind: 'drift_restored', found: 'sshd_reads_more' })
      expect(readFileSync(layout.sshd.pam, 'utf8')).toBe(pam)
      await account.remove()
      await session.ended
    })

    test('SG-20 where sshd’s settings are broken keys still go, and it is not said that all is well (needs sshd)', async () => {
      const { layout } = stage.sshd
      const account = await stage.account()
      const own = stage.pair()
      await account.install([desired(own)])
      const session = await stayIn(stage.sshd, account.username, own)
      const config = readFileSync(layout.sshd.config, 'utf8')
      writeFileSync(layout.sshd.config, `${config}NoSuchThing yes\n`)
      try {
        await expect(account.install([])).rejects.toThrow('sshd_config_broken')
      } finally {
        writeFileSync(layout.sshd.config, config)
      }
      await session.ended
      expect(await logIn(stage.sshd, account.username, own)).toEqual(refused)
      expect(stage.told.at(-1)).toMatchObject({ kind: 'session_ended', end: 'key_removed' })
    })
  })

  test('SG-20 S15 a file that was changed by hand is put back and told, however it was changed (needs sshd)', async () => {
    const account = await stage.account()
    const [own, strange] = [stage.pair(), stage.pair('strange')]
    await account.install([desired(own)])
    const file = keysFile(account)
    const text = readFileSync(file, 'utf8')
    const elsewhere = await writeAtHome(account, 'keys', `${strange.line}\n`, 0o644)
    const changes: readonly (readonly [string, () => void])[] = [
      ['changed', () => writeFileSync(file, `${text}${strange.line}\n`)],
      ['missing', () => rmSync(file)],
      ['not_ours', () => chownSync(file, 12345, 12345)],
      ['not_ours', () => chmodSync(file, 0o664)],
      ['not_ours', () => linkInstead(file, elsewhere)],
      ['changed', () => writeFileSync(file, '')],
    ]
    for (const [found, act] of changes) {
      act()
      expect(await account.drift()).toBe(true)
      expect(stage.told.at(-1)).toMatchObject({ kind: 'drift_restored', found, allocation_id: account.allocation_id })
      expect(await driftOf(file, text, (await findAccount(account.username))!.gid)).toBeNull()
      expect(await account.drift()).toBe(false)
    }
    expect(readFileSync(elsewhere, 'utf8')).toBe(`${strange.line}\n`)
    expect(await logIn(stage.sshd, account.username, strange)).toEqual(refused)
    expect(await logIn(stage.sshd, account.username, own)).toEqual(isIn(account.username))
  })

  test('SG-10 SG-20 an older state does not bring back a key that was taken away since (needs sshd)', async () => {
    const account = await stage.account()
    const [own, gone] = [stage.pair(), stage.pair()]
    const older = [desired(own), desired(gone)]
    await account.install(older)
    await account.install([desired(own)])
    const { allocation_id, username } = account
    const params = { allocation_id, username, keys: older, set_hash: 'h' } as never
    const wanted = { allocation_id, username, type: 'allocation.install_authorized_keys', generation: 2, params } as const
    await expect(stage.hands.drift(wanted, new Date())).rejects.toThrow('later_set_in_force')
    await expect(stage.hands.installKeys(params, 2)).rejects.toThrow('later_set_in_force')
    expect(await logIn(stage.sshd, username, gone)).toEqual(refused)
    // What the account has written itself says nothing of how new it is.
    const lie = await writeAtHome(account, 'lie', readFileSync(keysFile(account), 'utf8').replace(/generation \d+/, 'generation 99'), 0o644)
    linkInstead(keysFile(account), lie)
    expect(await account.drift()).toBe(true)
    expect(await logIn(stage.sshd, username, own)).toEqual(isIn(username))
    await account.remove()
  })

  test('SG-15 nothing is written into a folder that is not root’s alone (needs sshd)', async () => {
    const account = await stage.account()
    const { keys_dir } = stage.sshd.layout
    const own = stage.pair()
    const other = join(homeOf(account), 'elsewhere')
    mkdirSync(other)
    renameSync(keys_dir, `${keys_dir}.kept`)
    symlinkSync(other, keys_dir)
    try {
      await expect(account.install([desired(own)])).rejects.toThrow('keys_folder_not_ours')
    } finally {
      rmSync(keys_dir)
      renameSync(`${keys_dir}.kept`, keys_dir)
    }
    chmodSync(keys_dir, 0o775)
    await expect(account.install([desired(own)])).rejects.toThrow('keys_folder_not_ours')
    chmodSync(keys_dir, 0o755)
    expect(readdirSync(other)).toEqual([])
    await account.install([desired(own)])
    expect(await logIn(stage.sshd, account.username, own)).toEqual(isIn(account.username))
  })

  test('SG-15 a name that is a path, or one that the system has, is no account of ours (needs sshd)', async () => {
    for (const name of ['../../etc/passwd', 'root', 'gh-a/../../b', 'gh-ABCDEFG', 'gh-abc', '-gh-abcdef', 'gh-abcdef\n', '.next-uid'])
      await expect(stage.account(name)).rejects.toThrow('this is no name of a managed account')
    const account = await stage.account()
    await expect(stage.account(account.username, randomUUID())).rejects.toThrow('username_taken')
    const taken = newUsername()
    symlinkSync('/etc', join(stage.sshd.layout.homes_dir, taken))
    await expect(stage.account(taken)).rejects.toThrow('home_taken')
    expect(await findAccount(taken)).toBeUndefined()
  })

  test('SG-15 SG-23 S11 a name that is given again has nothing of the one before (needs sshd)', async () => {
    const { sshd } = stage
    const username = newUsername()
    const [old, later] = [stage.pair('old'), stage.pair('later')]
    const first = await stage.account(username)
    await first.install([desired(old)])
    const { uid } = (await findAccount(username))!
    const session = await stayIn(sshd, username, old)
    const left = [`/tmp/${username}`, `/var/tmp/${username}`, `/dev/shm/${username}`]
    session.say(
      `mkdir ${left[0]}; ln -s /etc/passwd ${left[0]}/link; touch ${left.slice(1).join(' ')} notes; setsid sleep 1000 & echo left`,
    )
    expect(await session.next()).toBe('left')
    execFileSync('/usr/bin/mkdir', ['-p', '/var/spool/cron/crontabs'])
    writeFileSync(`/var/spool/cron/crontabs/${username}`, '* * * * * true\n')
    const done = await first.remove()
    await session.ended
    expect(done.sessions_ended).toMatchObject([{ fingerprint: old.fingerprint, may_have_left_processes: false }])
    expect(stage.told.at(-1)).toMatchObject({ kind: 'session_ended', end: 'account_removed', fingerprint: old.fingerprint })
    for (const path of [...left, homeOf(first), keysFile(first), `/var/spool/cron/crontabs/${username}`])
      expect([path, existsSync(path)]).toEqual([path, false])
    expect(statSync('/etc/passwd').size).toBeGreaterThan(0)
    expect((await allProcesses()).filter((each) => each.uid === uid)).toEqual([])
    expect(await findAccount(username)).toBeUndefined()

    const second = await stage.account(username)
    await second.install([desired(later)])
    expect((await findAccount(username))!.uid).toBeGreaterThan(uid)
    expect(await logIn(sshd, username, old)).toEqual(refused)
    expect(await logIn(sshd, username, later, 'ls -A | grep -c notes; pgrep -u $(id -u) sleep | wc -l')).toMatchObject({ said: '0\n0' })
    // Taken away twice is as well.
    await second.remove()
    expect(await second.remove()).toMatchObject({ fingerprints: [] })
  })

  test('SG-15 the node’s own people log in with their own files, as before (needs sshd)', async () => {
    const admin = `adm${newUsername().slice(3, 12)}`
    const pair = stage.pair('admin')
    const home = join(stage.sshd.layout.homes_dir, admin)
    execFileSync('/usr/sbin/useradd', ['--create-home', '--home-dir', home, '--shell', '/bin/bash', '--password', '*', admin])
    mkdirSync(join(home, '.ssh'), { mode: 0o700 })
    writeFileSync(join(home, '.ssh/authorized_keys'), `${pair.line}\n`)
    execFileSync('/usr/bin/chown', ['-R', admin, home])
    expect(await logIn(stage.sshd, admin, pair)).toEqual(isIn(admin))
    // Also where the hook is broken: it is not run for them.
    const { hook } = stage.sshd.layout
    const kept = readFileSync(hook, 'utf8')
    writeFileSync(hook, '#!/bin/sh\nkill -KILL $PPID\n')
    expect(await logIn(stage.sshd, admin, pair)).toEqual(isIn(admin))
    writeFileSync(hook, kept)
  })

  test('SG-15 settings that sshd would not take are refused, and everything is left as it was (needs sshd)', async () => {
    const { layout } = stage.sshd
    const files = [layout.hook, layout.sshd.pam, layout.sshd.drop_in, layout.sshd.config]
    const all = () => files.map((file) => [readFileSync(file, 'utf8'), statSync(file).mode])
    const before = all()
    const config = readFileSync(layout.sshd.config, 'utf8')
    writeFileSync(layout.sshd.config, `${config}NoSuchThing yes\n`)
    await expect(prepareSshd(layout)).rejects.toThrow(/does not take its configuration as it is, so nothing was changed: .*NoSuchThing/s)
    writeFileSync(layout.sshd.config, config)
    // One that breaks only what comes out of ours.
    await expect(prepareSshd({ ...layout, group: `${layout.group} Nonsense` })).rejects.toThrow()
    await expect(prepareSshd({ ...layout, keys_dir: `${layout.keys_dir}/%nonsense "` })).rejects.toThrow(
      'would not take its configuration, so it was left as it was',
    )
    expect(all()).toEqual(before)
    await prepareSshd(layout)
    expect(all()).toEqual(before)
  })

  test('SG-15 SG-19 an sshd that would not go by our settings is not said to be prepared, and nothing is left behind (needs sshd)', async () => {
    const fresh = await privateSshd()
    const { layout, folder } = fresh
    try {
      const config = readFileSync(layout.sshd.config, 'utf8')
      const all = () => [readFileSync(layout.sshd.pam, 'utf8'), readdirSync(folder).sort()]
      const groups = () => readFileSync('/etc/group', 'utf8')
      const without: readonly (readonly [string, string])[] = [
        ['sshd_without_pam', config.replace('UsePAM yes', 'UsePAM no')],
        ['sshd_reads_other_keys', config.replace(/^Include.*$/m, '')],
        ['sshd_reads_other_keys', `Match User gh-*\n  AuthorizedKeysFile .ssh/authorized_keys\nMatch all\n${config}`],
        ['sshd_reads_more_keys', `Match User gh-*\n  TrustedUserCAKeys ${folder}/ca\nMatch all\n${config}`],
      ]
      for (const [word, text] of without) {
        writeFileSync(layout.sshd.config, text)
        const before = all()
        await expect(prepareSshd(layout)).rejects.toThrow(word)
        expect(all()).toEqual(before)
        expect(groups()).not.toContain(layout.group)
      }
      const settings = join(folder, 'agent.json')
      writeFileSync(settings, JSON.stringify({ layout }))
      const ran = spawnSync(process.execPath, ['agent/src/main.ts', 'prepare', '--config', settings], { encoding: 'utf8' })
      expect(ran).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringContaining('sshd_reads_more_keys; everything was left as it was'),
      })
      writeFileSync(layout.sshd.config, config)
      await prepareSshd(layout)
      expect(groups()).toContain(layout.group)
    } finally {
      await fresh.stop()
    }
  })
})
