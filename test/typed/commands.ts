import { spawnSync } from 'node:child_process'

export interface Command {
  readonly text: string
  /** Statuses and exit codes that a comment of the command announces: `# 409 until then`, `# exits 255`. */
  readonly statuses: readonly number[]
  readonly exit: number
}

/** Whether a shell would begin to work, instead of waiting for the rest. */
const isWhole = (text: string): boolean => {
  if (text.endsWith('\\\n')) return false
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
  return status === 0 && !stderr.includes('here-document')
}

const announced = (text: string): Omit<Command, 'text'> => {
  const comments = [...text.matchAll(/(?:^|\s)# (.*)$/gm)].map(([, comment]) => comment!).join('\n')
  return {
    statuses: [...comments.matchAll(/\b[45]\d\d\b/g)].map(([status]) => Number(status)),
    exit: Number(/\bexits (\d+)/.exec(comments)?.[1] ?? 0),
  }
}

/** One by one, as somebody types them: a command is as many lines as the shell needs to begin. */
export const commandsOf = (block: string): Command[] => {
  const commands: Command[] = []
  let text = ''
  for (const line of block.trimEnd().split('\n')) {
    text += `${line}\n`
    if (!isWhole(text)) continue
    commands.push({ text, ...announced(text) })
    text = ''
  }
  if (text !== '') throw new Error(`No shell understands this: ${text}`)
  return commands
}
