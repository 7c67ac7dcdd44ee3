import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { NotRestored } from '../../agent/src/hands.ts'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { keysText } from '../../agent/src/ssh/keys-file.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { logIn, stayIn } from '../ssh/client.ts'
import { desired, newUsername, type SshStage, type StagedAccount, sshStage } from '../ssh/stage.ts'

const refused = { code: 255, said: expect.stringContaining('Permission denied') }

describe.skipIf(!hasPart('sshd'))('what a former tenant leaves on a node (needs sshd)', () => {
  let stage: SshStage
  beforeAll(async () => {
    stage = await sshStage()
  })
  afterAll(() => stage.stop())
  const keysFile = ({ username }: Pick<StagedAccount, 'username'>) => join(stage.sshd.layout.keys_dir, username)

  test('SG-23 S11 accounts that nobody here answers for go with their keys, sessions and homes; the others stay (needs sshd)', async () => {
    const [former, current, stray] = [await stage.account(), await stage.account(), { username: newUsername() }]
    const [theirs, ours] = [stage.pair('theirs'), stage.pair('ours')]
    await former.install([desired(theirs)])
    await current.install([desired(ours)])
    writeFileSync(keysFile(stray), keysText([desired(theirs)], 1))
    const session = await stayIn(stage.sshd, former.username, theirs)
    const staying = await stayIn(stage.sshd, current.username, ours)
    const before = stage.told.length

    const hands = await stage.otherHands()
    const away = await hands.putAway(randomUUID(), ({ allocation_id }) => allocation_id === current.allocation_id)
    expect(away).toEqual([{ allocation_id: former.allocation_id, username: former.username }])
    await session.ended
    expect(staying.isOpen()).toBe(true)
    expect(await findAccount(former.username)).toBeUndefined()
    for (const path of [keysFile(former), keysFile(stray), join(stage.sshd.layout.homes_dir, former.username)])
      expect([path, existsSync(path)]).toEqual([path, false])
    expect(await logIn(stage.sshd, former.username, theirs)).toEqual(refused)
    expect(await logIn(stage.sshd, current.username, ours)).toMatchObject({ code: 0 })
    // They were another node's: not for this one to tell of.
    expect(stage.told.slice(before).filter(({ allocation_id }) => allocation_id === former.allocation_id)).toEqual([])
    await staying.close()
  })

  test('SG-20 SG-23 where the node is the same and only its book is gone, that is told (needs sshd)', async () => {
    const account = await stage.account()
    const [node_id, hands] = [randomUUID(), await stage.otherHands()]
    await hands.putAway(node_id, () => true)
    await hands.putAway(node_id, ({ allocation_id }) => allocation_id !== account.allocation_id)
    const { allocation_id } = account
    expect(stage.told.at(-1)).toMatchObject({ kind: 'drift_restored', found: 'account_left', allocation_id })
  })

  test('SG-23 S11 an account’s group has its number, which nobody gets again, and what it left where all may write is gone (needs sshd)', async () => {
    const scratch = join(stage.sshd.folder, 'scratch')
    mkdirSync(scratch)
    chmodSync(scratch, 0o1777)
    const first = await stage.account()
    const found = (await findAccount(first.username))!
    expect(found.gid).toBe(found.uid)
    const [by_owner, by_group, others] = ['owner', 'group', 'others'].map((name) => join(scratch, name)) as [string, string, string]
    for (const path of [by_owner, by_group, others]) writeFileSync(path, '')
    chownSync(by_owner, found.uid, 0)
    chownSync(by_group, 0, found.gid)
    await first.remove()
    expect([by_owner, by_group, others].map(existsSync)).toEqual([false, false, true])
    expect(() => execFileSync('/usr/bin/getent', ['group', first.username])).toThrow()
    const second = (await findAccount((await stage.account()).username))!
    expect(second.gid).toBe(second.uid)
    expect(second.gid).toBeGreaterThan(found.gid)
  })

  test('SG-20 S15 where sshd cannot be put right, the file is, and it is said for as long as it is so (needs sshd)', async () => {
    const account = await stage.account()
    const keys = [desired(stage.pair())]
    await account.install(keys)
    const { layout } = stage.sshd
    const config = readFileSync(layout.sshd.config, 'utf8')
    const text = readFileSync(keysFile(account), 'utf8')
    const hands = await stage.otherHands()
    const { allocation_id, username } = account
    const wanted = { allocation_id, username, type: 'allocation.install_authorized_keys', generation: 2, params: { keys } } as const
    writeFileSync(layout.sshd.config, `${config}NoSuchThing yes\n`)
    try {
      for (const _ of [1, 2]) {
        writeFileSync(keysFile(account), `${text}planted\n`)
        const asked = await hands.drift(wanted, new Date()).catch((error: unknown) => error)
        expect(asked).toBeInstanceOf(NotRestored)
        expect(asked).toMatchObject({ failure: 'sshd_config_broken' })
        expect(readFileSync(keysFile(account), 'utf8')).toBe(text)
      }
    } finally {
      writeFileSync(layout.sshd.config, config)
    }
    // What was begun and perhaps never written is written, and nobody is said to have changed it.
    const before = stage.told.length
    const other = await stage.otherHands()
    writeFileSync(keysFile(account), '')
    expect(await other.drift({ ...wanted, is_written: false }, new Date())).toBe(false)
    expect(readFileSync(keysFile(account), 'utf8')).toBe(text)
    expect(stage.told.length).toBe(before)
  })
})
