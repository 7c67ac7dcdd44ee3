import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TaskParams } from '@gatehouse/contract/node-tasks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findAccount } from '../../agent/src/ssh/account.ts'
import { keysText } from '../../agent/src/ssh/keys-file.ts'
import { hasPart } from '../../tools/test/parts.ts'
import { logIn, type Pair } from '../ssh/client.ts'
import type { Order } from '../ssh/mortal-writer.ts'
import { desired, type SshStage, type StagedAccount, sshStage } from '../ssh/stage.ts'
import { sweep } from '../sweep.ts'

const steps = [
  'before it is made',
  'after it is made',
  'amid the writing',
  'before it is on disk',
  'amid bringing it to disk',
  'after it is on disk',
  'after it has its name',
  'before its name is on disk',
  'after its name is on disk',
]

describe.skipIf(!hasPart('sshd'))('a writer of keys that is killed (needs sshd)', () => {
  let stage: SshStage
  let account: StagedAccount
  let [leaving, staying]: Pair[] = []
  beforeAll(async () => {
    stage = await sshStage()
    account = await stage.account()
    ;[leaving, staying] = [stage.pair('leaving'), stage.pair('staying')]
  })
  afterAll(() => stage.stop())

  /** The set with both, and after it the one in which one of them is gone, by a process that does not get to the end. */
  const killAt = async (step: string, more: Partial<Order> = {}) => {
    const [both, one] = [[desired(leaving!), desired(staying!)], [desired(staying!)]]
    await account.install(both)
    const { allocation_id, username } = account
    const params = { allocation_id, username, keys: one, set_hash: 'h' } as TaskParams<'allocation.install_authorized_keys'>
    const path = join(stage.sshd.layout.keys_dir, account.username)
    const before = Number(/^# generation (\d+)$/m.exec(readFileSync(path, 'utf8'))![1])
    const generation = before + 1
    const order: Order = { layout: stage.sshd.layout, params, generation, ...more }
    const child = spawn(process.execPath, ['test/ssh/mortal-writer.ts', JSON.stringify(order), step], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
    const { uid, gid, mode } = statSync(path)
    const texts = { found: readFileSync(path, 'utf8'), both: keysText(both, before), one: keysText(one, generation) }
    return { ...texts, who: [uid, gid, mode & 0o7777], set: one, generation }
  }

  test.for(sweep('killed writers', steps, 3))(
    'SG-10 S7 %s leaves the whole old file or the whole new one, root’s, and comes right after (needs sshd)',
    async (step) => {
      const { found, who, both, one, set } = await killAt(step)
      expect([both, one]).toContain(found)
      expect(who).toEqual([0, (await findAccount(account.username))!.gid, 0o640])
      expect(found).toBe(steps.indexOf(step) < steps.indexOf('after it has its name') ? both : one)
      await account.install(set)
      expect(readFileSync(join(stage.sshd.layout.keys_dir, account.username), 'utf8')).toBe(one)
    },
  )

  test('SG-10 S7 after all of it the one who stays gets in and the other does not, and the next agent finds no halves (needs sshd)', async () => {
    const { set, generation } = await killAt('amid the writing')
    const halves = () => readdirSync(stage.sshd.layout.keys_dir).filter((name) => name.endsWith('.part'))
    expect(halves()).not.toEqual([])
    const other = await stage.otherHands()
    expect(halves()).toEqual([])
    const { allocation_id, username } = account
    await other.installKeys({ allocation_id, username, keys: set, set_hash: randomUUID() } as never, generation)
    expect(await logIn(stage.sshd, username, staying!)).toMatchObject({ code: 0 })
    expect(await logIn(stage.sshd, username, leaving!)).toMatchObject({ code: 255 })
  })

  test('S7 one that writes into the file itself leaves it in part (needs sshd)', async () => {
    const { found, both, one } = await killAt('amid the writing', { is_in_place: true })
    expect([both, one]).not.toContain(found)
  })
})
