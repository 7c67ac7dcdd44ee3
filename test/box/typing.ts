import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandsOf } from '../typed/commands.ts'
import { type Block, blocksOf } from '../typed/documents.ts'
import type { Box } from './box.ts'

const guide = 'docs/guides/node-agent.md'

/** The block of the guide that begins so; a guide without it fails the story that follows it. */
export const blockOf = (begins: string): Block => {
  const found = blocksOf(guide).filter(({ text }) => text.startsWith(begins))
  if (found.length !== 1) throw new Error(`${guide} has ${found.length} blocks that begin with: ${begins}`)
  return found[0]!
}

export interface Said {
  readonly exit: number
  readonly said: string
}

/** Hears a shell until it has said how its latest command ended. */
const listener = (child: ReturnType<typeof spawn>) => {
  let heard = ''
  const waiting: (() => void)[] = []
  const wake = () => {
    for (const each of waiting.splice(0)) each()
  }
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (bytes) => {
      heard += bytes
      wake()
    })
  child.once('exit', wake)
  return async (mark: string): Promise<Said> => {
    const found = new RegExp(`^${mark} (\\d+)\\n`, 'm')
    for (;;) {
      const ended = found.exec(heard)
      if (ended) {
        const said = heard.slice(0, ended.index)
        heard = heard.slice(ended.index + ended[0].length)
        return { exit: Number(ended[1]), said }
      }
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the shell ended: ${heard}`)
      await new Promise<void>((resolve) => waiting.push(resolve))
    }
  }
}

export interface Operator {
  readonly type: (command: string, input?: string) => Promise<Said>
  /** Types a block of the guide, word by word; what did not end as the guide says fails the story. Returns all that was said. */
  readonly typeBlock: (begins: string, inputOf?: (command: string) => string) => Promise<string>
  readonly leave: () => Promise<void>
}

/** Somebody who is logged in to the box as root, over ssh: what one command sets, the next one sees, and an unset variable ends the shell. */
export const operatorOn = (box: Pick<Box, 'port' | 'root_key' | 'share'>): Operator => {
  const reach = ['-F', 'none', '-p', `${box.port}`, '-i', box.root_key, '-o', 'IdentitiesOnly=yes', '-o', 'BatchMode=yes']
  const quiet = [
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'LogLevel=ERROR',
    '-o',
    'ConnectionAttempts=30',
  ]
  const child = spawn('/usr/bin/ssh', [...reach, ...quiet, 'root@127.0.0.1', 'bash -l -u'], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => {})
  const hear = listener(child)
  let count = 0
  const type: Operator['type'] = (command, input = '') => {
    count += 1
    const [file, typed_in] = [`typed-${count}`, `typed-in-${count}`]
    writeFileSync(join(box.share, file), command)
    writeFileSync(join(box.share, typed_in), input, { mode: 0o600 })
    const mark = `box-typed-${count}`
    child.stdin.write(`. /mnt/share/${file} < /mnt/share/${typed_in} 2>&1; echo "${mark} $?"\n`)
    return hear(mark)
  }
  return {
    type,
    typeBlock: async (begins, inputOf = () => '') => {
      const { line, text } = blockOf(begins)
      const all: string[] = []
      for (const command of commandsOf(text)) {
        const { exit, said } = await type(command.text, inputOf(command.text))
        if (exit !== command.exit) throw new Error(`${guide}:${line}: ${command.text.trim()}\nended with ${exit}: ${said}`)
        all.push(said)
      }
      return all.join('')
    },
    leave: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.stdin.end()
      await gone
    },
  }
}
