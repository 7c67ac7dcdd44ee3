import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hasPart } from '../../tools/test/parts.ts'
import { commandsOf } from '../typed/commands.ts'
import { type Block, blocksOf, snippetsOf } from '../typed/documents.ts'
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

interface Place {
  readonly shell: ReturnType<typeof openShell>
  /** How a command is spelt there. */
  readonly spelt: (command: string) => string
  /** What is typed when a command asks. */
  readonly answerTo: (command: string) => string
}

/** Types blocks one after another; says of each command that did not go as its document says what it did. */
const faultsOf = async (blocks: readonly Block[], { shell, spelt, answerTo }: Place): Promise<string[]> => {
  const faults: string[] = []
  for (const { document, line, text, refusals } of blocks) {
    const met: number[] = []
    const announced: number[] = []
    for (const command of commandsOf(text)) {
      const where = `${document}:${line}: ${command.text.trim()}`
      if (command.text.includes('…')) faults.push(`${where}\n  has a placeholder`)
      const typed = await shell.type(spelt(command.text), answerTo(command.text))
      const { exit, said } = typed
      // A loop waits for something: only how it ended counts.
      const { statuses, unanswered } = command.text.startsWith('until ') ? { statuses: [], unanswered: [] } : typed
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
  return faults
}

const faultsInNewWorld = async (blocks: readonly Block[]): Promise<string[]> => {
  const world = await freshWorld()
  const shell = openShell(world.folder, world.env)
  try {
    return await faultsOf(blocks, { shell, spelt: world.spelt, answerTo: () => '' })
  } finally {
    await shell.stop()
    await world.stop()
  }
}

describe('every command, typed into a fresh development world', () => {
  test.for(documents.filter((document) => typedOf(document).length > 0))(
    'HO-01 %s: typed from top to bottom → each command does what it says',
    async (document) => {
      expect(await faultsInNewWorld(scriptOf(document).filter((block) => !needsSshd(block)))).toEqual([])
    },
  )

  test('TI-17 docs/guides/oauth.md: its TypeScript, with openid-client as it comes → a token, and a bound one that is accepted', async () => {
    // The piece in the middle takes a private key, which the tests of stock clients do.
    const [get, , bind] = snippetsOf('docs/guides/oauth.md')
    const known = 'const { issuer, keyId, secret } = process.env'
    const said = 'console.log(access_token.length > 100, bound.token_type)'
    const program = [known, get, bind!.replace('await client.fetch', 'const { status } = await client.fetch'), said, 'console.log(status)']
    const guide = 'docs/guides/oauth.md'
    const commands = [...tour, ...before[guide]!, ...typedOf(guide).slice(0, 1)].flatMap(({ text }) => commandsOf(text))
    const world = await freshWorld()
    const shell = openShell(world.folder, world.env)
    try {
      for (const { text } of commands) await shell.type(world.spelt(text))
      const run = 'issuer=$GATEHOUSE keyId=$KEY_ID secret=$SECRET node_modules/.bin/node --input-type=module'
      const typed = await shell.type(`${run} <<'PROGRAM'\n${program.join('\n')}\nPROGRAM\n`)
      expect(typed).toMatchObject({ exit: 0, said: 'true dpop\n200\n' })
    } finally {
      await shell.stop()
      await world.stop()
    }
  })

  test.skipIf(!hasPart('sshd'))(
    'HO-01 SG-22 README: the tour with the agent on this machine → a live session ends with its grant (needs sshd)',
    async () => {
      expect(await faultsInNewWorld(scriptOf('README.md'))).toEqual([])
    },
  )
})

// The names and ports of the guide need a network of their own, which root alone can make, as sshd's part tells.
const lacking = (['postgres15', 'sshd'] as const).find((part) => !hasPart(part))
test.skipIf(lacking !== undefined)(
  `HO-03 HO-06 RP-29 first hour: typed with a production profile, over TLS → an organization with an owner, a backup, and the limits of override (needs ${lacking ?? 'sshd'})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-first-hour-'))
    chmodSync(folder, 0o711)
    const namespaces = ['unshare', '--mount', '--net', '--ipc', '--pid', '--mount-proc', '--fork', '--kill-child']
    const place = [...namespaces, join(import.meta.dirname, '../typed/production-place.sh'), folder, process.execPath]
    const shell = openShell(folder, { NODE_EXTRA_CA_CERTS: join(folder, 'root.crt') }, place)
    const token = (name: string) => readFileSync(join(folder, `${name}.token`), 'utf8')
    try {
      const faults = await faultsOf(blocksOf(firstHour), {
        shell,
        spelt: (command) => command.replace('etc=/etc/gatehouse var=/var/lib/gatehouse', `etc=${folder}/etc var=${folder}/var`),
        answerTo: (command) => /^read .* (superadmin|owner);/.exec(command)?.[1]?.replace(/.+/, token) ?? '',
      })
      expect(faults).toEqual([])
      const ask = async (command: string) => JSON.parse((await shell.type(command)).said) as Record<string, unknown>
      // Signing in made no organization of their own, as the policy of step 5 says.
      expect(await ask('as $superadmin $api/me')).toMatchObject({ platform_roles: ['platform_superadmin'], organizations: [] })
      expect(await ask('as $owner $api/me')).toMatchObject({ organizations: [{ slug: 'research', roles: ['tenant_owner'] }] })
      const denied = (details: object) => ({ code: 'insufficient_permissions', details: expect.objectContaining(details) })
      const selfGrant = denied({ detail: 'override_self_grant' })
      const own = `{ "name": "Mine", "slug": "mine", "owner_user_id": "'$superadmin_id'" }`
      expect(await ask(`as $superadmin $api/orgs -d '${own}'`)).toMatchObject(selfGrant)
      const invitation = '{ "email": "superadmin@example.com", "role_name": "tenant_member" }'
      expect(await ask(`as $superadmin $api/orgs/$org/invitations -d '${invitation}'`)).toMatchObject(selfGrant)
      const inside = await ask('as $superadmin "$api/allocations?project_id=$project"')
      expect(inside).toMatchObject(denied({ reason_code: expect.stringMatching(/^(?:membership_missing|permission_denied)$/) }))
      const machine = `{ "name": "Robot", "slug": "robot" }`
      await shell.type(`robot=$(as $owner $api/projects/$project/service-accounts -d '${machine}' | cut -d'"' -f4)`)
      expect(await ask(`as $superadmin $api/projects/$project/service-accounts/$robot/keys -d '{}'`)).toMatchObject(denied({}))
    } finally {
      await shell.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
)
