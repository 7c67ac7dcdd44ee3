import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { groupsFileOf } from '../../agent/src/ssh/layout.ts'
import { allProcesses } from '../../agent/src/ssh/processes.ts'
import { sessionHook } from '../../agent/src/ssh/session-hook.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { type LiveSession, logIn, stayIn } from '../ssh/client.ts'
import { desired, type SshStage, type StagedAccount, sshStage } from '../ssh/stage.ts'

const until = (check: () => unknown) => expect.poll(async () => Boolean(await check()), { interval: 50 }).toBe(true)

/** How many processes of this name run as the account. */
const runningAs = async ({ username }: StagedAccount, name: string): Promise<number> => {
  const { uid } = (await findAccount(username))!
  const own = (await allProcesses()).filter((each) => each.uid === uid)
  const nameOf = (pid: number) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    } catch {
      return ''
    }
  }
  return own.filter(({ pid }) => nameOf(pid) === name).length
}

/** Whatever a session can do to be rid of its parents. */
const away = 'setsid sleep 1001 & nohup sleep 1002 & ( ( setsid sleep 1003 & ) & ) ; ( (trap "" HUP TERM INT; sleep 1004) & )'
const startAway = async (session: LiveSession) => {
  session.say(`{ ${away}; } > /dev/null 2>&1 < /dev/null; sleep 0.2; echo away`)
  expect(await session.next()).toBe('away')
}

describe.skipIf(!hasPart('sshd'))('sessions end with their keys (needs sshd)', () => {
  let stage: SshStage
  beforeAll(async () => {
    stage = await sshStage()
  })
  afterAll(() => stage.stop())

  const twoPeople = async (of = stage) => {
    const account = await of.account()
    const [owner, member] = [of.pair('owner'), of.pair('member')]
    await account.install([desired(owner), desired(member)])
    return { account, owner, member, set: { owner: desired(owner), member: desired(member) } }
  }

  test('SG-19 S10 with all that they started, and nobody else’s (needs sshd)', async () => {
    const { account, owner, member, set } = await twoPeople()
    const staying = await stayIn(stage.sshd, account.username, owner)
    const leaving = [await stayIn(stage.sshd, account.username, member), await stayIn(stage.sshd, account.username, member)] as const
    await startAway(staying)
    await startAway(leaving[0])
    expect(await runningAs(account, 'sleep')).toBe(8)
    const done = await account.install([set.owner])
    await Promise.all(leaving.map(({ ended }) => ended))
    expect(done).toMatchObject({
      fingerprints: [owner.fingerprint],
      grant_ids: [set.owner.holders[0]!.grant_id],
      set_hash: expect.any(String),
    })
    const told = { session_id: expect.any(String), fingerprint: member.fingerprint, may_have_left_processes: false }
    expect(done.sessions_ended).toEqual([told, told].map((each) => ({ ...each, processes_ended: expect.any(Number) })))
    expect(
      done
        .sessions_ended!.map(({ processes_ended }) => processes_ended)
        .sort()
        .at(-1),
    ).toBeGreaterThanOrEqual(6)
    expect(staying.isOpen()).toBe(true)
    expect(await runningAs(account, 'sleep')).toBe(4)
    expect(await logIn(stage.sshd, account.username, member)).toMatchObject({ code: 255 })
    staying.say('echo still here')
    expect(await staying.next()).toBe('still here')
    await account.remove()
    await staying.ended
  })

  test('SG-19 what a session left running when it was closed ends with its key too (needs sshd)', async () => {
    const { account, owner, member, set } = await twoPeople()
    for (const pair of [owner, member]) {
      const session = await stayIn(stage.sshd, account.username, pair)
      await startAway(session)
      await session.close()
    }
    await account.drift()
    await account.drift()
    expect(await runningAs(account, 'sleep')).toBe(8)
    const done = await account.install([set.owner])
    expect(done.sessions_ended).toMatchObject([{ fingerprint: member.fingerprint, processes_ended: 4, may_have_left_processes: false }])
    expect(await runningAs(account, 'sleep')).toBe(4)
    await account.remove()
  })

  test('SG-19 a session that makes new processes all the time ends, and so does an account full of them (needs sshd)', async () => {
    const { account, member, set } = await twoPeople()
    const bomb = 'f() { f | f & }; ulimit -u 300; f'
    const session = await stayIn(stage.sshd, account.username, member)
    session.say(bomb)
    await until(async () => (await runningAs(account, 'bash')) > 50)
    const done = await account.install([set.owner])
    await session.ended
    expect(done.sessions_ended).toMatchObject([{ fingerprint: member.fingerprint, may_have_left_processes: false }])
    expect(await runningAs(account, 'bash')).toBe(0)
    await account.install([set.owner, set.member])
    const again = await stayIn(stage.sshd, account.username, member)
    again.say(bomb)
    await until(async () => (await runningAs(account, 'bash')) > 50)
    const { uid } = (await findAccount(account.username))!
    await account.remove()
    expect((await allProcesses()).filter((each) => each.uid === uid)).toEqual([])
  })

  test('SG-21 begin and end are told once each, by key (needs sshd)', async () => {
    const { account, owner, member, set } = await twoPeople()
    const mine = () => stage.told.filter(({ allocation_id }) => allocation_id === account.allocation_id)
    const [first, second] = [await stayIn(stage.sshd, account.username, owner), await stayIn(stage.sshd, account.username, member)]
    await account.drift()
    await account.drift()
    const told = {
      source_ip: '127.0.0.1',
      at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      generation: 2,
      session_id: expect.stringMatching(/^[\d.]+\.[0-9a-f]{8}$/),
    }
    expect(mine()).toHaveLength(2)
    for (const { fingerprint } of [owner, member])
      expect(mine()).toContainEqual({ ...told, allocation_id: account.allocation_id, kind: 'session_started', fingerprint })
    await first.close()
    await until(() => account.drift().then(() => mine().length === 3))
    expect(mine().at(-1)).toMatchObject({ kind: 'session_ended', end: 'closed', fingerprint: owner.fingerprint })
    await account.install([set.owner])
    await second.ended
    expect(mine().at(-1)).toMatchObject({
      kind: 'session_ended',
      end: 'key_removed',
      fingerprint: member.fingerprint,
      may_have_left_processes: false,
      generation: 3,
    })
    await account.drift()
    expect(mine()).toHaveLength(4)
    expect(
      readdirSync(stage.sshd.layout.sessions_dir).filter((name) => mine().some(({ session_id }) => name.startsWith(session_id!))),
    ).toEqual([])
  })

  test('SG-21 a session of an earlier run of the system is over, and told so (needs sshd)', async () => {
    const { account, owner } = await twoPeople()
    const file = join(stage.sshd.layout.sessions_dir, '1.1.0badb007')
    writeFileSync(file, [account.username, owner.key_type, owner.blob, '192.0.2.7', 'none', '2026-01-01T00:00:00.000Z', ''].join('\n'))
    await account.drift()
    expect(stage.told.slice(-2)).toMatchObject([
      { kind: 'session_started', at: '2026-01-01T00:00:00.000Z', source_ip: '192.0.2.7' },
      { kind: 'session_ended', end: 'lost' },
    ])
    expect(existsSync(file)).toBe(false)
  })

  test('SG-19 a session whose key has come to its end is ended (needs sshd)', async () => {
    const account = await stage.account()
    const [owner, member] = [stage.pair('owner'), stage.pair('member')]
    const expires_at = new Date(Date.now() + 3_600_000)
    await account.install([desired(owner), desired(member, expires_at.toISOString())])
    const [staying, leaving] = [await stayIn(stage.sshd, account.username, owner), await stayIn(stage.sshd, account.username, member)]
    expect(await account.drift(new Date(expires_at.getTime() - 1))).toBe(false)
    expect(leaving.isOpen()).toBe(true)
    expect(await account.drift(expires_at)).toBe(false)
    await leaving.ended
    expect(stage.told.at(-1)).toMatchObject({ kind: 'session_ended', end: 'key_expired', fingerprint: member.fingerprint })
    expect(staying.isOpen()).toBe(true)
    await staying.close()
  })

  test('SG-19 SG-21 it ended because its time was over, also where the next set was there first (needs sshd)', async () => {
    const account = await stage.account()
    const [owner, member] = [stage.pair('owner'), stage.pair('member')]
    const ends = Date.now() + 8000
    await account.install([desired(owner), desired(member, new Date(ends).toISOString())])
    const leaving = await stayIn(stage.sshd, account.username, member)
    await pause(ends - Date.now() + 10)
    await account.install([desired(owner)])
    await leaving.ended
    expect(stage.told.at(-1)).toMatchObject({ kind: 'session_ended', end: 'key_expired', fingerprint: member.fingerprint })
    await account.remove()
  })

  test('SG-19 a key that is taken away between being shown and the session’s beginning does not open it (needs sshd)', async () => {
    const { account, member, set } = await twoPeople()
    const { hook } = stage.sshd.layout
    const text = sessionHook(stage.sshd.layout)
    const [reached, go_on] = [join(stage.sshd.folder, 'reached'), join(stage.sshd.folder, 'go-on')]
    const stopAt = (line: string) => text.replace(line, () => `touch ${reached}; until [ -f ${go_on} ]; do sleep 0.02; done\n${line}`)
    // Before it is written down: the agent cannot know of it, and the hook finds the key gone. After: the agent finds it.
    for (const line of ["printf '%s", 'line=$(grep']) {
      for (const each of [reached, go_on]) rmSync(each, { force: true })
      await account.install([set.owner, set.member])
      writeFileSync(hook, stopAt(line))
      const entering = logIn(stage.sshd, account.username, member)
      await until(() => existsSync(reached))
      writeFileSync(hook, text)
      await account.install([set.owner])
      writeFileSync(go_on, '')
      expect(await entering).toMatchObject({ code: 255 })
    }
    // Without looking for the key once more, the first of both gets in.
    for (const each of [reached, go_on]) rmSync(each, { force: true })
    await account.install([set.owner, set.member])
    writeFileSync(hook, stopAt("printf '%s").replace(/^line=\$\(grep.*$/m, 'line='))
    const entering = logIn(stage.sshd, account.username, member)
    await until(() => existsSync(reached))
    writeFileSync(hook, text)
    await account.install([set.owner])
    writeFileSync(go_on, '')
    expect(await entering).toMatchObject({ code: 0 })
  })

  test('SG-19 SG-21 a connection for which the hook could not be run is ended when it is found (needs sshd)', async () => {
    const { account, owner, member, set } = await twoPeople()
    const { hook } = stage.sshd.layout
    const staying = await stayIn(stage.sshd, account.username, owner)
    rmSync(hook)
    const unwritten = await stayIn(stage.sshd, account.username, member)
    writeFileSync(hook, sessionHook(stage.sshd.layout), { mode: 0o755 })
    expect(unwritten.isOpen()).toBe(true)
    await account.drift()
    await unwritten.ended
    expect(staying.isOpen()).toBe(true)
    expect(await account.install([set.owner])).toMatchObject({ sessions_ended: [] })
    await staying.close()
  })

  test('SG-19 a session that the hook cannot write down does not begin (needs sshd)', async () => {
    const { account, owner } = await twoPeople()
    const { sessions_dir } = stage.sshd.layout
    execFileSync('/usr/bin/mv', [sessions_dir, `${sessions_dir}.kept`])
    writeFileSync(sessions_dir, 'in the way')
    expect(await logIn(stage.sshd, account.username, owner)).toMatchObject({ code: 255 })
    rmSync(sessions_dir)
    execFileSync('/usr/bin/mv', [`${sessions_dir}.kept`, sessions_dir])
    expect(await logIn(stage.sshd, account.username, owner)).toMatchObject({ code: 0 })
  })
})

describe.skipIf(!hasPart('sshd'))('where there are no control groups (needs sshd)', () => {
  let stage: SshStage
  beforeAll(async () => {
    stage = await sshStage({ cgroup_dir: null })
  })
  afterAll(() => stage.stop())

  test('SG-19 a session ends with what is seen to come from it, and the receipt says that more may be left (needs sshd)', async () => {
    expect(readFileSync(groupsFileOf(stage.sshd.layout), 'utf8')).toBe('\n')
    const account = await stage.account()
    const [owner, member] = [stage.pair('owner'), stage.pair('member')]
    await account.install([desired(owner), desired(member)])
    const staying = await stayIn(stage.sshd, account.username, owner)
    const plain = await stayIn(stage.sshd, account.username, member)
    plain.say('sleep 1005 & sleep 0.1; echo started')
    await plain.next()
    // All that it started is still below it: nothing is in doubt.
    expect((await account.install([desired(owner)])).sessions_ended).toMatchObject([{ may_have_left_processes: false }])
    await plain.ended
    expect(await runningAs(account, 'sleep')).toBe(0)

    await account.install([desired(owner), desired(member)])
    const leaving = await stayIn(stage.sshd, account.username, member)
    await startAway(leaving)
    const done = await account.install([desired(owner)])
    await leaving.ended
    expect(done.sessions_ended).toMatchObject([{ fingerprint: member.fingerprint, may_have_left_processes: true }])
    expect(await runningAs(account, 'sleep')).toBeGreaterThan(0)
    expect(staying.isOpen()).toBe(true)
    // They end with the account.
    const { uid } = (await findAccount(account.username))!
    await account.remove()
    await staying.ended
    expect((await allProcesses()).filter((each) => each.uid === uid)).toEqual([])
  })

  test('SG-19 a closed session that may have left something is not forgotten (needs sshd)', async () => {
    const account = await stage.account()
    const member = stage.pair('member')
    await account.install([desired(member)])
    const session = await stayIn(stage.sshd, account.username, member)
    await startAway(session)
    await session.close()
    await pause(200)
    await account.drift()
    expect((await account.install([])).sessions_ended).toMatchObject([{ fingerprint: member.fingerprint, may_have_left_processes: true }])
    await account.remove()
  })
})
