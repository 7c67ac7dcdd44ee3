import { codeHash } from '../../tools/evidence/code-hash.ts'
import type { FigureName } from '../../tools/evidence/figures.ts'
import { commitOfTree } from '../../tools/evidence/git.ts'
import { type Found, recordIfWanted } from '../../tools/evidence/records.ts'
import { openJournal, Refused, type Settings } from './journal.ts'

/** Flags that every resumable campaign has. */
export const campaignFlags = {
  resume: { type: 'boolean', default: false },
  restart: { type: 'boolean', default: false },
  record: { type: 'boolean', default: false },
} as const

/** All that a campaign runs: product and campaign. */
const run = ['contract/src', 'server/src', 'agent/src', 'idp/src', 'db', 'test', 'package-lock.json']
const folder = 'node_modules/.cache/gatehouse/campaigns'

/** A campaign with its journal. How much of it is wanted is no setting: a complete campaign can be resumed with a higher goal. */
export const openCampaign = <Unit>(name: FigureName, flags: { resume: boolean; restart: boolean }, settings: Settings) => {
  const mode = flags.resume ? 'resume' : flags.restart ? 'restart' : 'new'
  const recording = recordIfWanted(name)
  const open = () => {
    try {
      return openJournal<Unit>({ campaign: name, commit: commitOfTree(), code: codeHash(run), settings, folder, mode })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      console.error(error.message)
      process.exit(1)
    }
  }
  const journal = open()
  if (journal.units.length > 0) console.log(`resumed after ${journal.units.length} units and ${journal.seconds()} s: ${journal.path}`)
  return {
    ...journal,
    /** Tells the totals over all runs, marks the journal as complete, and records the figure where that is wanted. */
    end: (totals: object, found: Found) => {
      journal.complete()
      console.log({ ...totals, seconds: journal.seconds() })
      console.log(`${found.verdict}: ${found.figure}${found.note ? `\n${found.note}` : ''}`)
      if (found.verdict === 'broken') process.exitCode = 1
      recording.end(found)
    },
  }
}
