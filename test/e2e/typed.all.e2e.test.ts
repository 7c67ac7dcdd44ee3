import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { commandsOf } from '../typed/commands.ts'
import { type Block, blocksOf } from '../typed/documents.ts'
import { leftOut } from '../typed/left-out.ts'
import { openShell } from '../typed/shell.ts'
import { freshWorld } from '../typed/world.ts'

const guides = readdirSync(join(import.meta.dirname, '../../docs/guides')).map((name) => `docs/guides/${name}`)
const firstHour = 'docs/guides/first-hour.md'
const documents = ['README.md', 'CONTRIBUTING.md', 'examples/controller/README.md', ...guides.filter((name) => name !== firstHour)]

const reasonFor = ({ document, text }: Block) => leftOut.find((each) => each.document === document && text.startsWith(each.begins))
const typedOf = (document: string) => blocksOf(document).filter((block) => reasonFor(block) === undefined)

/** The first block of the tour says how to sign in and ask; every guide begins after it. */
const tour = blocksOf('README.md').filter(({ text }) => text.startsWith('api='))
/** What a guide asks to be typed before it. */
const before: Readonly<Record<string, readonly Block[]>> = {
  'docs/guides/oauth.md': blocksOf('docs/guides/service-accounts.md').slice(0, 2),
  'docs/guides/machine-tokens.md': blocksOf('docs/guides/service-accounts.md').slice(0, 2),
  'examples/controller/README.md': typedOf('docs/guides/shared-runtimes.md').slice(0, 3),
}
const scriptOf = (document: string): readonly Block[] =>
  document === 'README.md' ? typedOf(document) : [...tour, ...(before[document] ?? []), ...typedOf(document)]

/** The part of the tour that makes this machine a node. */
const needsSshd = (block: Block) => block.document === 'README.md' && /node\.sh|^enter\(\)/m.test(block.text)

test('HO-01 documents: every block that is left out has its reason, and is there', () => {
  const all = documents.flatMap(blocksOf)
  for (const each of leftOut) expect([each.begins, all.filter((block) => reasonFor(block) === each).length]).toEqual([each.begins, 1])
})

/** Types blocks one after another; says of each command that did not go as its document says what it did. */
const faultsOf = async (blocks: readonly Block[]): Promise<string[]> => {
  const world = await freshWorld()
  const shell = openShell(world.folder, world.env)
  const faults: string[] = []
  try {
    for (const { document, line, text, refusals } of blocks) {
      const met: number[] = []
      const announced: number[] = []
      for (const command of commandsOf(text)) {
        const where = `${document}:${line}: ${command.text.trim()}`
        if (command.text.includes('…')) faults.push(`${where}\n  has a placeholder`)
        const { exit, said, statuses, unanswered } = await shell.type(world.spelt(command.text))
        const refused = statuses.filter((status) => status >= 400)
        met.push(...refused)
        // What is shown below a block that asks nothing is a line of a log.
        announced.push(...command.statuses, ...(statuses.length > 0 ? refusals : []))
        if (exit !== command.exit) faults.push(`${where}\n  ended with ${exit}: ${said}`)
        for (const each of unanswered) faults.push(`${where}\n  ${each}: ${said}`)
        const surprises = refused.filter((status) => !refusals.includes(status) && !command.statuses.includes(status))
        if (surprises.length > 0) faults.push(`${where}\n  was answered ${surprises.join(', ')}: ${said}`)
      }
      for (const status of new Set(announced))
        if (!met.includes(status)) faults.push(`${document}:${line}: announces a ${status} that did not come`)
    }
  } finally {
    await shell.stop()
    await world.stop()
  }
  return faults
}

describe('every command, typed into a fresh development world', () => {
  test.for(documents.filter((document) => typedOf(document).length > 0))(
    'HO-01 %s: typed from top to bottom → each command does what it says',
    async (document) => {
      expect(await faultsOf(scriptOf(document).filter((block) => !needsSshd(block)))).toEqual([])
    },
  )

  test.skipIf(!hasPart('sshd'))(
    'HO-01 SG-22 README: the tour with the agent on this machine → a live session ends with its grant (needs sshd)',
    async () => {
      expect(await faultsOf(scriptOf('README.md'))).toEqual([])
    },
  )
})
