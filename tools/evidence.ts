// `npm run evidence -- NAME` runs the command of a figure that is a run of tests, and records how it ended. Campaigns and benches record
// themselves with `--record`.
import { spawn } from 'node:child_process'
import { type Found, recordIfWanted } from './evidence/records.ts'

interface Run {
  readonly env?: Readonly<Record<string, string>>
  readonly args: readonly string[]
  readonly found: (ended: { is_ok: boolean; seconds: number; counts: string }) => Found
}

const kept = (is_kept: boolean) => (is_kept ? 'kept' : 'broken')

// The second tier (`test:rest`) runs sweeps whole.
const runs: Readonly<Record<'suite' | 'ended-connections' | 'hostile-texts' | 'climb', Run>> = {
  suite: {
    args: ['test'],
    found: ({ is_ok, seconds, counts }) => ({ verdict: kept(is_ok && seconds <= 360), figure: `${seconds} s, ${counts}` }),
  },
  'ended-connections': {
    env: { GATEHOUSE_EVERY_POINT: '1' },
    args: ['run', 'test:rest', '--', 'database-faults'],
    found: ({ is_ok, seconds, counts }) => ({ verdict: kept(is_ok), figure: `every statement of every change: ${counts} (${seconds} s)` }),
  },
  'hostile-texts': {
    args: ['run', 'test:rest', '--', 'sql-texts'],
    found: ({ is_ok, seconds, counts }) => ({ verdict: kept(is_ok), figure: `every text in every place: ${counts} (${seconds} s)` }),
  },
  climb: {
    env: { GATEHOUSE_CLIMB_SEQUENCES: '1000' },
    args: ['test', '--', 'test/climb/climb'],
    found: ({ is_ok, seconds, counts }) => ({ verdict: kept(is_ok), figure: `1000 sequences: ${counts} (${seconds} s)` }),
  },
}

const [name = ''] = process.argv.slice(2)
if (!Object.hasOwn(runs, name)) {
  console.error(`Say which: npm run evidence -- ${Object.keys(runs).join(' | ')}`)
  process.exit(1)
}
const { args, env, found } = runs[name as keyof typeof runs]
const recording = recordIfWanted(name as keyof typeof runs, true)
const began = performance.now()
const child = spawn('npm', [...args], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } })
let output = ''
child.stdout.on('data', (bytes: Buffer) => {
  output = (output + bytes.toString('utf8')).slice(-10_000)
  process.stdout.write(bytes)
})
child.once('close', (code) => {
  const counts = /\d+ passed, \d+ failed, \d+ skipped/.exec(output.trimEnd().split('\n').at(-1) ?? '')?.[0]
  if (counts === undefined) {
    console.error('The run ended without its last line, so nothing was recorded.')
    process.exitCode = 1
    return
  }
  recording.end(found({ is_ok: code === 0, seconds: Math.round((performance.now() - began) / 1000), counts }))
  process.exitCode = code ?? 1
})
