import { readFileSync } from 'node:fs'
import { type RunningAgent, startAgent } from './agent.ts'
import { clear } from './clear.ts'
import { askRunning, hangDoorbell, withStateAlone } from './doorbell.ts'
import { enrol } from './enrol.ts'
import { HandsFailed } from './hands.ts'
import { logTo } from './log.ts'
import { type Command, readCommand, usage } from './settings.ts'
import { nodeOfMachine } from './ssh/layout.ts'
import { realHands } from './ssh/real-hands.ts'
import { prepareSshd } from './ssh/sshd.ts'
import { openState } from './state.ts'
import { type AgentStatus, sentencesOf } from './status.ts'
import { agent_version } from './version.ts'

const log = logTo((line) => process.stderr.write(line))
const say = (text: string) => process.stdout.write(text)

const enrolNode = async ({ settings: { state_dir, url, layout }, token_file }: Command): Promise<void> => {
  if (token_file === undefined)
    throw new Error('enrol needs --token-file; a token on the command line is seen by everybody on this machine')
  const text = readFileSync(token_file === '-' ? 0 : token_file, 'utf8')
  const { node_id, expires_at } = await withStateAlone(state_dir, layout.lock_file, async () =>
    enrol(await openState(state_dir), text, url),
  )
  say(`This machine is node ${node_id}. Its certificate lasts until ${expires_at} and is renewed by the running agent.\n`)
}

const runAgent = async ({ settings: { state_dir, layout, url } }: Command): Promise<void> => {
  let agent: RunningAgent | undefined
  const takeDown = await hangDoorbell(state_dir, layout.lock_file, () => JSON.stringify(agent?.status() ?? null))
  const signalled = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve())
  })
  try {
    agent = await startAgent({
      state: await openState(state_dir),
      makeHands: realHands(layout),
      log,
      ...(url === undefined ? {} : { url }),
    })
    await signalled
    await agent.stop()
  } finally {
    await takeDown()
  }
}

const clearMachine = async ({ settings: { state_dir, layout }, node_id }: Command): Promise<void> => {
  const away = await withStateAlone(state_dir, layout.lock_file, async () =>
    clear(state_dir, {
      hands: async () => realHands(layout)(async () => {}),
      machines_node: await nodeOfMachine(layout),
      named_node: node_id,
    }),
  )
  for (const { username, allocation_id } of away) say(`${username} is gone (allocation ${allocation_id}).\n`)
  say('No managed account is left, and this machine is no node any more.\n')
}

const showStatus = async ({ settings: { state_dir }, is_json }: Command): Promise<void> => {
  const answer = await askRunning(state_dir)
  const status = answer === undefined ? null : (JSON.parse(answer) as AgentStatus | null)
  if (is_json) say(`${JSON.stringify({ is_running: answer !== undefined, ...status })}\n`)
  else say(status === null ? `The agent ${answer === undefined ? 'does not run' : 'is starting'}.\n` : sentencesOf(status))
  if (answer === undefined) process.exitCode = 3
}

const main = async (args: readonly string[]): Promise<void> => {
  const command = readCommand(args)
  switch (command.verb) {
    case 'enrol':
      return enrolNode(command)
    case 'prepare':
      await prepareSshd(command.settings.layout).catch((error: unknown) => {
        if (!(error instanceof HandsFailed)) throw error
        throw new Error(`${error.failure}; everything was left as it was. The guide says what to do about it`)
      })
      say('sshd reads the keys of managed accounts from the agent’s own files from now on.\n')
      return
    case 'run':
      return runAgent(command)
    case 'clear':
      return clearMachine(command)
    case 'status':
      return showStatus(command)
    case 'version':
      say(`${agent_version}\n`)
      return
    default:
      throw new Error(`there is no command ${command.verb.slice(0, 40)}`)
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  // A sentence for whoever typed it, never a stack and never what was in a file.
  const sentence = error instanceof Error ? error.message : 'unknown fault'
  if (process.argv[2] === 'run') log('error', 'agent_failed', { why: sentence })
  else process.stderr.write(`gatehouse-agent: ${sentence}\n${process.argv.length < 3 ? `\n${usage}` : ''}`)
  process.exitCode = 1
})
