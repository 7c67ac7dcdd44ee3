import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

export const accountVariable = 'GATEHOUSE_TEST_ACCOUNT'
export const accountPath = (run: string): string => `node_modules/.cache/gatehouse/account-${run.replace(':', '-')}.jsonl`

interface Line {
  readonly file: string
  readonly wall_ms: number
  readonly cpu_ms: number
  readonly children_cpu_ms: number
  readonly spent: Readonly<Record<string, { readonly wall_ms: number; readonly cpu_ms: number; readonly count: number }>>
}

export interface Account {
  readonly file: string
  readonly seconds: number
  /** Processor time of the processes that it started and saw end; they run beside it. */
  readonly children: number
  /** Seconds by kind of work; together they are all of its time. */
  readonly kinds: Readonly<Record<(typeof kinds)[number], number>>
}

const kinds = ['database set-up', 'server set-up', 'process starts', 'computing', 'waiting'] as const

const accountOf = ({ file, wall_ms, cpu_ms, children_cpu_ms, spent }: Line): Account => {
  const setUp = (kind: string) => (spent[kind]?.wall_ms ?? 0) / 1000
  const all = Object.values(spent)
  const seconds = wall_ms / 1000
  const inSetUp = all.reduce((sum, each) => sum + each.wall_ms, 0) / 1000
  const computing = Math.max(0, cpu_ms - all.reduce((sum, each) => sum + each.cpu_ms, 0)) / 1000
  return {
    file: relative(process.cwd(), file),
    seconds,
    children: children_cpu_ms / 1000,
    kinds: {
      'database set-up': setUp('database set-up'),
      'server set-up': setUp('server set-up'),
      'process starts': setUp('process starts'),
      computing,
      waiting: Math.max(0, seconds - inSetUp - computing),
    },
  }
}

export const readAccounts = (path: string): Account[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => accountOf(JSON.parse(line)))
    : []

const cell = (seconds: number): string => seconds.toFixed(1).padStart(10)
const row = (name: string, values: readonly number[]): string => `${values.map(cell).join('')}  ${name}`

/** Where the time of a run went, by kind of work and by file: the seconds of all files together, and of the slowest. */
export const accountTable = (accounts: readonly Account[], most = 10): string[] => {
  const sum = (kind: (typeof kinds)[number]) => accounts.reduce((total, account) => total + account.kinds[kind], 0)
  const slowest = accounts.toSorted((one, other) => other.seconds - one.seconds).slice(0, most)
  const heads = ['all', 'database', 'server', 'process', 'comput-', 'waiting', 'its pro-'].map((head) => head.padStart(10)).join('')
  const more = ['', 'set-up', 'set-up', 'starts', 'ing', '', 'cesses'].map((head) => head.padStart(10)).join('')
  return [
    heads,
    more,
    row(`all ${accounts.length} files`, [
      accounts.reduce((total, { seconds }) => total + seconds, 0),
      ...kinds.map(sum),
      accounts.reduce((total, { children }) => total + children, 0),
    ]),
    ...slowest.map(({ file, seconds, kinds: of, children }) => row(file, [seconds, ...kinds.map((kind) => of[kind]), children])),
  ]
}
