import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { logIn, stayIn } from '../ssh/client.ts'
import { desired, type SshStage, sshStage } from '../ssh/stage.ts'

describe.skipIf(!hasPart('sshd'))('what an account may use, and what it may not (needs sshd)', () => {
  let stage: SshStage
  beforeAll(async () => {
    stage = await sshStage()
  })
  afterAll(() => stage.stop())

  test('SG-28 login: as many sessions as the bound allows are open → the next is refused, until one has ended (needs sshd)', async () => {
    const [account, key] = [await stage.account(), stage.pair()]
    await account.install([desired(key)], { bounds: { sessions_max: 2, tasks_max: 4096, memory_max_bytes: null } })
    const [first, second] = [await stayIn(stage.sshd, account.username, key), await stayIn(stage.sshd, account.username, key)]
    expect(await logIn(stage.sshd, account.username, key)).toMatchObject({ code: 255 })
    expect([first.isOpen(), second.isOpen()]).toEqual([true, true])
    await first.close()
    await expect.poll(async () => (await logIn(stage.sshd, account.username, key)).code).toBe(0)
    // Red control: without a bound there may be a third.
    await account.install([desired(key)])
    const more = [await stayIn(stage.sshd, account.username, key), await stayIn(stage.sshd, account.username, key)]
    expect(more.every((each) => each.isOpen())).toBe(true)
    await account.remove()
  })

  test('SG-28 processes: an account starts more than its bound → the kernel refuses, for all its sessions together (needs sshd)', async () => {
    const [account, key] = [await stage.account(), stage.pair()]
    await account.install([desired(key)], { bounds: { sessions_max: 64, tasks_max: 20, memory_max_bytes: null } })
    const holding = await stayIn(stage.sshd, account.username, key)
    holding.say('for n in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 > /dev/null 2>&1 & done; echo held')
    expect(await holding.next()).toBe('held')
    const many = 'for n in $(seq 30); do sleep 1000 > /dev/null 2>&1 & done; echo $(jobs -p | wc -l) started'
    expect((await logIn(stage.sshd, account.username, key, many)).said).toMatch(/Resource temporarily unavailable/)
    // With the account, all of it.
    await account.remove()
    await holding.ended
  })

  test('SG-26 keys: another account’s file → not readable; its own is, by its group alone (needs sshd)', async () => {
    const [one, other, key] = [await stage.account(), await stage.account(), stage.pair()]
    await one.install([desired(key)])
    await other.install([desired(key)])
    const file = join(stage.sshd.layout.keys_dir, other.username)
    const { uid, gid, mode } = statSync(file)
    expect([uid, gid, mode & 0o7777]).toEqual([0, (await findAccount(other.username))!.gid, 0o640])
    expect(await logIn(stage.sshd, one.username, key, `cat ${file}`)).toMatchObject({ said: expect.stringContaining('Permission denied') })
    expect(await logIn(stage.sshd, other.username, key, `cat ${file}`)).toEqual({ code: 0, said: readFileSync(file, 'utf8').trim() })
  })

  test('SG-25 release: the account stops everything that is its own, again and again → it ends all the same (needs sshd)', async () => {
    const [account, key] = [await stage.account(), stage.pair()]
    await account.install([desired(key)])
    const session = await stayIn(stage.sshd, account.username, key)
    // A helper that ran as the account would be stopped with the rest, and waited for for ever.
    session.say('(trap "" TERM HUP; while :; do kill -STOP -1; done) > /dev/null 2>&1 & echo stopping')
    await session.next()
    await account.remove()
    await session.ended
    expect(await findAccount(account.username)).toBeUndefined()
  })
})
