import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createAllocation, readAllocation, releaseAllocation } from '../../contract/src/allocations.ts'
import { enrolNodeAgain, probeNode, retireNode, revokeTaskSigner, rotateTaskSigner } from '../../contract/src/nodes.ts'
import { paperHands, readAccount } from '../../test/agent/paper-hands.ts'
import { registeredNode } from '../../test/enrolled-node.ts'
import { liveServer, seeded, serverFixture } from '../../test/live-server.ts'
import { type AgentParts, type RunningAgent, startAgent } from './agent.ts'
import { writeAtomically } from './atomic-file.ts'
import { type Answer, type Asking, openDoor } from './door.ts'
import { enrol } from './enrol.ts'
import { HandsFailed, NotRestored } from './hands.ts'
import { openState } from './state.ts'
import { sentencesOf } from './status.ts'

const live = serverFixture()

const running: RunningAgent[] = []
const folders: string[] = []
afterEach(async () => {
  for (const agent of running.splice(0)) await agent.stop()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-agent-'))
  folders.push(folder)
  return folder
}

const quick = { wait_seconds: 2, longest_pause_ms: 200, refused_pause_ms: 400, drift_ms: 100, parting_ms: 60_000 }

/** A machine that is enrolled as a node of a kind of its own, so that what is asked for here is placed on it. */
const machine = async () => {
  const folder = newFolder()
  const sku = `sku-${folder
    .slice(-6)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '0')}`
  const node = await registeredNode(live, { sku, name: `n-${sku}` })
  const lines: { level: string; event: string; told: Record<string, unknown> | undefined }[] = []
  const paper = join(folder, 'paper')
  const state = await openState(join(folder, 'state'))
  await enrol(state, node.token, undefined)
  const start = async (parts: Partial<AgentParts> = {}) => {
    const agent = await startAgent({
      state: await openState(join(folder, 'state')),
      makeHands: paperHands(paper),
      log: (level, event, told) => lines.push({ level, event, told }),
      times: quick,
      ...parts,
    })
    running.push(agent)
    return agent
  }
  return { id: node.id, sku, folder, paper, state, lines, start, token: node.token }
}
type Machine = Awaited<ReturnType<typeof machine>>
const allocationOn = async ({ sku }: Machine, gpus = 1) => {
  const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku, gpus }
  const { status, text, body: made } = await live.ask('amara', createAllocation, { body })
  expect([status, text]).toEqual([201, expect.any(String)])
  return made as { id: string; username_on_node: string; state: string }
}
const stateOf = async (id: string): Promise<string> =>
  (await live.ask('amara', readAllocation, { params: { allocation_id: id } })).body.state
const release = (id: string) => live.ask('amara', releaseAllocation, { params: { allocation_id: id }, body: {} })
const until = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 50 })
const untilState = (id: string, state: string) => until(async () => expect(await stateOf(id)).toBe(state))
const tasksOf = (id: string) =>
  live.sql<{ type: string; state: string; attempts: number; generation: string }>(
    'select type, state, attempts, generation from node_tasks where node_id = $1 order by created_at, generation',
    [id],
  )
const because = { body: { reason: 'a test' } }
const probe = async ({ id }: Machine): Promise<string> => (await live.ask('ada', probeNode, { params: { node_id: id } })).body.id
const untilProbed = async (node: Machine) => {
  const task = await probe(node)
  await until(async () => expect(await live.sql('select state from node_tasks where id = $1', [task])).toEqual([{ state: 'completed' }]))
}
const reportsOf = ({ id }: Machine) =>
  live.sql("select result from audit_logs where action = 'node.task.report' and metadata->>'node_id' = $1", [id])

/** A door that a test stands in: it may lose an answer after it was given, or change it. */
const through =
  (act: (asking: Asking, ask: () => Promise<Answer>) => Promise<Answer>): NonNullable<AgentParts['open']> =>
  (showing) => {
    const door = openDoor(showing)
    return { ...door, ask: (asking) => act(asking, () => door.ask(asking)) }
  }
const lost = () => Promise.reject(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))

describe('a node and its agent', () => {
  test('SG-22 it enrols, makes an account, writes the keys, and takes it away', async () => {
    const node = await machine()
    await node.start()
    const { id, username_on_node: username } = await allocationOn(node)
    await untilState(id, 'active')
    expect(await readAccount(node.paper, username)).toEqual({ allocation_id: id, keys: [] })
    await release(id)
    await untilState(id, 'released')
    expect(await readAccount(node.paper, username)).toBeUndefined()
    expect((await tasksOf(node.id)).map(({ type, state }) => `${type} ${state}`)).toEqual([
      'allocation.provision_user completed',
      'allocation.install_authorized_keys completed',
      'allocation.deprovision_user completed',
    ])
  })

  test('J10 SG-22 what the control plane asks for anew after the machine has enrolled again is in no doubt, and stays', async () => {
    const node = await machine()
    const first = await node.start()
    const { id } = await allocationOn(node)
    await untilState(id, 'active')
    await first.stop()
    const { body } = await live.ask('ada', enrolNodeAgain, { params: { node_id: node.id }, ...because })
    await enrol(node.state, body.enrolment_token, undefined)
    expect((await node.state.allocations()).map(({ in_doubt }) => in_doubt)).toEqual(['open'])
    const second = await node.start()
    await until(async () =>
      expect((await live.ask('amara', readAllocation, { params: { allocation_id: id } })).body.runtime_sync.status).toBe('applied'),
    )
    expect((await node.state.allocations()).map(({ in_doubt }) => in_doubt)).toEqual([undefined])
    expect(second.status().allocations).toMatchObject([{ allocation_id: id, trouble: null }])
  })

  test('SG-22 a token enrols once, and not another machine’s state', async () => {
    const node = await machine()
    const elsewhere = await openState(join(newFolder(), 'state'))
    for (const state of [elsewhere, node.state]) {
      await expect(enrol(state, node.token, undefined)).rejects.toThrow('the token is not accepted')
      // Nothing of what was refused is left: neither a key nor that it was asked for.
      expect(await state.asked()).toBeUndefined()
    }
    const other = await registeredNode(live)
    await expect(enrol(node.state, other.token, undefined)).rejects.toThrow(`this machine is node ${node.id} already`)
  })

  test('SG-22 a door of another authority is not spoken to', async () => {
    const other = await liveServer()
    try {
      const node = await registeredNode(live)
      const asked = enrol(await openState(join(newFolder(), 'state')), node.token, other.nodes.url)
      await expect(asked).rejects.toMatchObject({ code: expect.stringMatching(/CERT|SIGNATURE|ISSUER/) })
    } finally {
      await other.stop()
    }
  })

  test('SG-10 a report whose answer was lost is repeated word by word, and counts once', async () => {
    const node = await machine()
    const sent: unknown[] = []
    await node.start({
      open: through(async (asking, ask) => {
        const answer = await ask()
        if (!asking.path.endsWith('/result')) return answer
        sent.push([asking.path, asking.idempotency_key, asking.body])
        return sent.length === 1 ? lost() : answer
      }),
    })
    const { id } = await allocationOn(node)
    await untilState(id, 'active')
    expect(sent.length).toBe(3)
    expect(sent[1]).toEqual(sent[0])
    expect(await reportsOf(node)).toHaveLength(2)
    expect(await live.sql("select 1 from audit_logs where actor_id = $1 and result = 'denied'", [node.id])).toEqual([])
  })

  test('SG-10 what is delivered again is neither performed again nor reported otherwise', async () => {
    const node = await machine()
    const came: unknown[] = []
    let performed = 0
    const hands = paperHands(node.paper, (real) => ({
      ...real,
      installKeys: (...asked) => {
        performed += 1
        return real.installKeys(...asked)
      },
    }))
    await node.start({
      makeHands: hands,
      open: through(async (asking, ask) => {
        const answer = await ask()
        if (!asking.path.includes('/tasks/wait') || answer.status !== 200) return answer
        const { tasks, ...rest } = answer.body as { tasks: unknown[] }
        came.push(...tasks)
        // Everything that ever came, the latest first, and each twice.
        return { ...answer, body: { ...rest, tasks: [...came, ...came].reverse() } }
      }),
    })
    const { id, username_on_node: username } = await allocationOn(node)
    await untilState(id, 'active')
    await release(id)
    await untilState(id, 'released')
    await untilProbed(node)
    expect(performed).toBe(1)
    expect(await readAccount(node.paper, username)).toBeUndefined()
    expect(await reportsOf(node)).toHaveLength(4)
    expect(await live.sql("select 1 from audit_logs where actor_id = $1 and result = 'denied'", [node.id])).toEqual([])
  })

  test('SG-10 while the server is gone nothing is lost, and on return it converges', async () => {
    const node = await machine()
    let is_gone = false
    const agent = await node.start({ open: through((_, ask) => (is_gone ? lost() : ask())) })
    const { id, username_on_node: username } = await allocationOn(node)
    await untilState(id, 'active')
    is_gone = true
    await until(() => expect(agent.status().server).toMatchObject({ state: 'unreachable', why: 'ECONNRESET' }))
    await release(id)
    expect(await stateOf(id)).toBe('releasing')
    expect(await readAccount(node.paper, username)).toBeDefined()
    is_gone = false
    await untilState(id, 'released')
    expect(agent.status().server.state).toBe('connected')
    expect(await readAccount(node.paper, username)).toBeUndefined()
  })

  test('SG-22 signers change under it: rotated ones are believed, a revoked one no more', async () => {
    const node = await machine()
    const agent = await node.start()
    await untilProbed(node)
    const [before] = await live.sql<{ kid: string }>("select kid from task_signers where state = 'active'")
    expect((await live.ask('ada', rotateTaskSigner, { ...because })).status).toBe(200)
    await untilProbed(node)
    expect(agent.status().signers).toContain(before!.kid)
    expect((await live.ask('ada', revokeTaskSigner, { params: { kid: before!.kid }, ...because })).status).toBe(200)
    await untilProbed(node)
    expect(agent.status().signers).not.toContain(before!.kid)
    expect(agent.status().refused_tasks.count).toBe(0)
  })

  test('SG-22 it renews with a new key, and asks again for the same certificate if the answer was lost', async () => {
    const node = await machine()
    const first = (await node.state.identity('current'))!
    let answers = 0
    await live.sql("update node_certificates set issued_at = issued_at - interval '9 hours' where node_id = $1", [node.id])
    const agent = await node.start({
      open: through(async (asking, ask) => {
        const answer = await ask()
        if (!asking.path.endsWith('/certificate')) return answer
        answers += 1
        return answers === 1 ? lost() : answer
      }),
    })
    await until(() => expect(node.lines.map(({ event }) => event)).toContain('certificate_renewed'))
    const second = (await node.state.identity('current'))!
    expect(answers).toBe(2)
    expect(second.key).not.toBe(first.key)
    expect(second.certificate).not.toBe(first.certificate)
    expect(await live.sql('select 1 from node_certificates where node_id = $1', [node.id])).toHaveLength(2)
    expect([await node.state.identity('next'), await node.state.asked()]).toEqual([undefined, undefined])
    await untilProbed(node)
    expect(agent.status().certificate.expires_at).toBe(second.expires_at)
  })

  test('SG-22 a retired node’s agent stays, says so, asks seldom, and still keeps what it was told', async () => {
    const node = await machine()
    let asked = 0
    const open = through((_, ask) => {
      asked += 1
      return ask()
    })
    const agent = await node.start({ open, times: { ...quick, refused_pause_ms: 600_000 } })
    const { id, username_on_node: username } = await allocationOn(node)
    await untilState(id, 'active')
    await live.ask('ada', retireNode, { params: { node_id: node.id }, ...because })
    await until(() => expect(agent.status().server).toMatchObject({ state: 'refused', why: '403 insufficient_permissions' }))
    const asked_before = asked
    await writeAtomically(join(node.paper, `${username}.json`), JSON.stringify({ allocation_id: id, keys: ['SHA256:planted'] }))
    await until(async () => expect(await readAccount(node.paper, username)).toEqual({ allocation_id: id, keys: [] }))
    await until(() => expect(agent.status().waiting.events).toBe(1))
    expect(asked).toBe(asked_before)
    expect(sentencesOf(agent.status())).toContain('does not take this node’s certificate')
    expect(sentencesOf(agent.status())).toMatch(/Retired: it does not come back.*gatehouse-agent clear.*register the machine anew/)
  })

  test('SG-22 it says at which address it asks, also where that is not the one of its enrolment', async () => {
    const node = await machine()
    const { url } = (await node.state.identity('current'))!
    expect((await node.start()).status().url).toBe(url)
    await running.pop()!.stop()
    const moved = `${url}/`
    const agent = await node.start({ url: moved })
    expect(agent.status().url).toBe(moved)
    expect(sentencesOf(agent.status())).toContain(`server          ${moved}:`)
  })

  test('SG-20 S15 what was changed by hand is put back, and the tenant’s record tells of it', async () => {
    const node = await machine()
    await node.start()
    const { id, username_on_node: username } = await allocationOn(node)
    await untilState(id, 'active')
    await writeAtomically(join(node.paper, `${username}.json`), JSON.stringify({ allocation_id: id, keys: ['SHA256:planted'] }))
    await until(async () => expect(await readAccount(node.paper, username)).toEqual({ allocation_id: id, keys: [] }))
    await until(() => expect(node.lines.filter(({ event }) => event === 'drift_restored')).toHaveLength(1))
    const drifts = () =>
      live.sql(`select severity, tenant_id, metadata from audit_logs where action = 'allocation.access_drift' and resource_id = $1`, [id])
    await until(async () => expect(await drifts()).toHaveLength(1))
    expect(await drifts()).toMatchObject([{ severity: 'high', tenant_id: seeded.org.aurora, metadata: { node_id: node.id } }])
  })

  test('SG-20 S15 after a set that failed halfway, that set is what is kept, also what is changed by hand after it', async () => {
    const node = await machine()
    const seen: (boolean | undefined)[] = []
    await node.start({
      // What failed at first is to be taken away; here that is on its way for long.
      open: through(async (_, ask) => {
        const answer = await ask()
        const { tasks, ...rest } = (answer.body ?? {}) as { tasks?: { type: string }[] }
        return tasks ? { ...answer, body: { ...rest, tasks: tasks.filter(({ type }) => !type.includes('deprovision')) } } : answer
      }),
      makeHands: paperHands(node.paper, (real) => ({
        ...real,
        installKeys: async (...asked) => {
          await real.installKeys(...asked)
          throw new HandsFailed('sshd_config_broken')
        },
        drift: (wanted, ...rest) => {
          if (wanted.type === 'allocation.install_authorized_keys') seen.push(wanted.is_written)
          return real.drift(wanted, ...rest)
        },
      })),
    })
    const { id, username_on_node: username } = await allocationOn(node)
    await until(() => expect(seen.slice(0, 2)).toEqual([false, true]))
    await writeAtomically(join(node.paper, `${username}.json`), JSON.stringify({ allocation_id: id, keys: ['SHA256:planted'] }))
    await until(() => expect(node.lines.map(({ event }) => event)).toContain('drift_restored'))
  })

  test('SG-20 what cannot be put right is told once, shown, and told no more when it is right again', async () => {
    const node = await machine()
    let word: string | null = null
    const agent = await node.start({
      makeHands: paperHands(node.paper, (real) => ({
        ...real,
        drift: (...asked) => (word === null ? real.drift(...asked) : Promise.reject(new NotRestored(word))),
      })),
    })
    const { id } = await allocationOn(node)
    await untilState(id, 'active')
    const told = () =>
      live.sql(
        `select severity, tenant_id, metadata->>'failure' as failure from audit_logs
          where action = 'allocation.access_drift.not_restored' and resource_id = $1 order by seq`,
        [id],
      )
    const row = (failure: string) => ({ severity: 'high', tenant_id: seeded.org.aurora, failure })
    word = 'sshd_reads_more_keys'
    await until(async () => expect(await told()).toEqual([row('sshd_reads_more_keys')]))
    expect(sentencesOf(agent.status())).toContain('NOT AS IT SHOULD BE: sshd_reads_more_keys')
    word = 'sshd_without_pam'
    await until(async () => expect(await told()).toEqual([row('sshd_reads_more_keys'), row('sshd_without_pam')]))
    word = null
    await until(() => expect(agent.status().allocations).toMatchObject([{ trouble: null }]))
    expect(await told()).toHaveLength(2)
  })

  test('SG-23 S11 a machine that is another node now lets nobody new in before the accounts of the former one are gone', async () => {
    const node = await machine()
    const left = { allocation_id: '00000000-0000-7000-8000-0000000000aa', keys: ['SHA256:former'] }
    mkdirSync(node.paper)
    await writeAtomically(join(node.paper, 'gh-former.json'), JSON.stringify(left))
    let is_stuck = true
    const agent = await node.start({
      makeHands: paperHands(node.paper, (real) => ({
        ...real,
        putAway: (...asked) => (is_stuck ? Promise.reject(new HandsFailed('processes_not_ended')) : real.putAway(...asked)),
      })),
    })
    const { id } = await allocationOn(node)
    await untilState(id, 'failed')
    expect((await live.sql('select failure from allocations where id = $1', [id]))[0]).toEqual({ failure: 'accounts_left' })
    expect(sentencesOf(agent.status())).toContain('could not be put away (processes_not_ended)')
    is_stuck = false
    await until(async () => expect(await readAccount(node.paper, 'gh-former')).toBeUndefined())
    await until(() => expect(agent.status().accounts_left).toBeNull())
    await untilState((await allocationOn(node)).id, 'active')
  })

  test('SG-10 stopped in the middle of a task it finishes that, says so, and begins nothing new', async () => {
    const node = await machine()
    const { promise: may_go_on, resolve: goOn } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const agent = await node.start({
      makeHands: paperHands(node.paper, (real) => ({
        ...real,
        provisionUser: async (...asked) => {
          begin()
          await may_go_on
          return real.provisionUser(...asked)
        },
      })),
    })
    const { id, username_on_node: username } = await allocationOn(node)
    await begun
    const stopped = agent.stop()
    goOn()
    await stopped
    expect(await readAccount(node.paper, username)).toEqual({ allocation_id: id, keys: [] })
    expect((await tasksOf(node.id)).map(({ state }) => state)).toEqual(['completed', 'queued'])
  })

  test('SG-22 neither key nor token is in what it logs', async () => {
    const node = await machine()
    await node.start()
    await untilProbed(node)
    const { key } = (await node.state.identity('current'))!
    const logged = JSON.stringify(node.lines)
    expect(logged).toContain('agent_started')
    for (const secret of [node.token, ...key.split('\n').filter((line) => line.length > 20 && !line.startsWith('-'))])
      expect(logged).not.toContain(secret)
  })
})
