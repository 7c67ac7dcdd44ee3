import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startAgent } from '../../agent/src/agent.ts'
import { type Door, openDoor } from '../../agent/src/door.ts'
import type { Hands } from '../../agent/src/hands.ts'
import { logTo } from '../../agent/src/log.ts'
import { openState, type State } from '../../agent/src/state.ts'
import { paperHands } from './paper-hands.ts'

// The agent in a process of its own, with parts that end it outright at one step: `node mortal-agent.ts FOLDER [STEP] [hasty]`.
const [folder = '', step = 'never', manner = 'sound'] = process.argv.slice(2)

/** At once and without a word, as when the power goes. */
const dieAt = (here: string): void => {
  if (here === step) process.kill(process.pid, 'SIGKILL')
}
const around = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  dieAt(`before ${what}`)
  const result = await act()
  dieAt(`after ${what}`)
  return result
}

const mortalState = (state: State): State => ({
  ...state,
  keepAllocation: (allocation) => {
    const what = allocation.applied?.generation === allocation.begun ? 'what is applied is kept' : 'what is begun is kept'
    if (step === `amid ${what}`) {
      // As far as a write may have come: the new file is there in part, beside the old one.
      writeFileSync(join(state.folder, 'allocations', `${allocation.allocation_id}.json.0123456789abcdef.part`), '{"allocation_id": "0000')
      dieAt(`amid ${what}`)
    }
    return around(what, () => state.keepAllocation(allocation))
  },
  keepReport: (report) => around(report.settled_at === null ? 'a report is kept' : 'a report is settled', () => state.keepReport(report)),
})

/** Says that it is done, and does it a minute later: what a test must find. */
const hastyHands = (hands: Hands): Hands => ({
  ...hands,
  provisionUser: async (...asked) => {
    setTimeout(() => void hands.provisionUser(...asked), 60_000)
    return {}
  },
  installKeys: async () => ({}),
  drift: async () => false,
})

const mortalHands = (hands: Hands): Hands => ({
  ...hands,
  provisionUser: (...asked) => around('an account is made', () => hands.provisionUser(...asked)),
  installKeys: (...asked) => around('keys are written', () => hands.installKeys(...asked)),
  deprovisionUser: (...asked) => around('an account is removed', () => hands.deprovisionUser(...asked)),
})

const mortalDoor = (door: Door): Door => ({
  ...door,
  ask: (asking) => (asking.path.endsWith('/result') ? around('a report is heard', () => door.ask(asking)) : door.ask(asking)),
})

const agent = await startAgent({
  state: mortalState(await openState(join(folder, 'state'))),
  makeHands: paperHands(join(folder, 'paper'), manner === 'hasty' ? hastyHands : mortalHands),
  open: (showing) => mortalDoor(openDoor(showing)),
  log: logTo((line) => process.stderr.write(line)),
  times: { wait_seconds: 5, longest_pause_ms: 500 },
})
process.once('SIGTERM', () => void agent.stop().then(() => process.exit(0)))
