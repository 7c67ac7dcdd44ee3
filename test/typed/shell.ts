import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** What a command did: what it said, how it ended, and what each of its requests was answered. */
export interface Typed {
  readonly exit: number
  readonly said: string
  readonly statuses: readonly number[]
  /** Requests that got no answer, as curl tells it. */
  readonly unanswered: readonly string[]
}

/** Stands before the real curl: asks the same, for at most half a minute, and writes down what it was answered. */
const watchedCurl = `#!/usr/bin/env bash
head=$(mktemp "$TYPED_FOLDER/head-XXXXXX")
"$TYPED_CURL" --max-time 30 -D "$head" "$@"
code=$?
status=$(tr -d '\\r' < "$head" | sed -n 's/^HTTP[^ ]* \\([0-9]*\\).*/\\1/p' | tail -1)
echo "$code \${status:-0}" >> "$TYPED_FOLDER/answers"
exit $code
`

/** curl ends so where the next command of a pipe has read enough. */
const pipeClosed = 23

const pathWithout = (part: string) => (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes(part))

/** A shell as somebody has it open, in the folder of the sources: what one command sets, the next one sees. An unset variable ends it. */
export const openShell = (folder: string, env: Readonly<Record<string, string>>, prefix: readonly string[] = []) => {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  // The private Node of this project is not what somebody's shell finds first.
  const path = pathWithout('node_modules')
  const curl = path.map((each) => join(each, 'curl')).find(existsSync) ?? 'curl'
  writeFileSync(join(bin, 'curl'), watchedCurl)
  chmodSync(join(bin, 'curl'), 0o755)
  const answers = join(folder, 'answers')
  writeFileSync(answers, '')
  const [program, ...words] = [...prefix, 'bash', '--noprofile', '--norc', '-u']
  const shell: ChildProcess = spawn(program!, words, {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      PATH: [bin, ...path].join(delimiter),
      HOME: folder,
      TMPDIR: folder,
      LANG: 'C.UTF-8',
      TYPED_FOLDER: folder,
      TYPED_CURL: curl,
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let [said, ended] = ['', '']
  for (const stream of [shell.stdout!, shell.stderr!])
    stream.on('data', (chunk) => {
      said += chunk
    })
  shell.stdio[3]!.on('data', (chunk) => {
    ended += chunk
  })

  const stop = async () => {
    if (shell.exitCode === null && shell.signalCode === null) {
      process.kill(-shell.pid!, 'SIGKILL')
      await once(shell, 'exit')
    }
  }

  let count = 0
  /** Types one command and waits until it has ended. `input` is what is typed when it asks. */
  const type = async (command: string, input = '', seconds = 120): Promise<Typed> => {
    count += 1
    const [file, typed_in] = [join(folder, `command-${count}`), join(folder, `input-${count}`)]
    writeFileSync(file, command)
    writeFileSync(typed_in, input)
    const [from, heard] = [readFileSync(answers, 'utf8').length, said.length]
    shell.stdin!.write(`. ${file} < ${typed_in}; echo "${count} $?" >&3\n`)
    const until = performance.now() + seconds * 1000
    const mark = new RegExp(`^${count} (\\d+)$`, 'm')
    for (;;) {
      const exit = mark.exec(ended)?.[1]
      const text = said.slice(heard)
      if (exit !== undefined) {
        const asked = readFileSync(answers, 'utf8')
          .slice(from)
          .split('\n')
          .filter(Boolean)
          .map((line) => line.split(' ').map(Number))
        return {
          exit: Number(exit),
          said: text,
          statuses: asked.map(([, status]) => status!).filter((status) => status > 0),
          unanswered: asked.filter(([code]) => code !== 0 && code !== pipeClosed).map(([code]) => `curl ended with ${code}`),
        }
      }
      if (shell.exitCode !== null) throw new Error(`The shell ended at:\n${command}\n${text}`)
      if (performance.now() > until) throw new Error(`After ${seconds} s this has not ended:\n${command}\n${text}`)
      await sleep(20)
    }
  }
  return { type, stop }
}
