import { appendFileSync, readFileSync } from 'node:fs'

/** What one wants done, once, however often one has to ask for it. */
export interface Intent {
  /** Also its idempotency key. */
  readonly key: string
  readonly operation: string
  readonly person: string
  readonly method: string
  readonly path: string
  readonly params: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

export interface Attempt {
  readonly correlation_id: string
  /** Null: sent, and no whole answer came. */
  readonly answer: { readonly status: number; readonly body: unknown } | null
}

export interface Wanted {
  readonly intent: Intent
  readonly attempts: readonly Attempt[]
}

type Line = { intent: Intent } | { key: string; sent: string } | { key: string; answered: string; status: number; body: unknown }

type Remembered = Map<string, { intent: Intent; attempts: { correlation_id: string; answer: Attempt['answer'] }[] }>

const remember = (wanted: Remembered, line: Line) => {
  if ('intent' in line) wanted.set(line.intent.key, { intent: line.intent, attempts: [] })
  else if ('sent' in line) wanted.get(line.key)!.attempts.push({ correlation_id: line.sent, answer: null })
  else {
    const { key, answered, status, body } = line
    wanted.get(key)!.attempts.find(({ correlation_id }) => correlation_id === answered)!.answer = { status, body }
  }
}

/** The client's own memory, in a file that no server touches. A line is written before its request leaves. */
export const openJournal = (file: string) => {
  const wanted: Remembered = new Map()
  const write = (line: Line) => {
    appendFileSync(file, `${JSON.stringify(line)}\n`)
    remember(wanted, line)
  }
  return {
    intend: (intent: Intent) => write({ intent }),
    sent: ({ key }: Intent, correlation_id: string) => write({ key, sent: correlation_id }),
    answered: ({ key }: Intent, correlation_id: string, status: number, body: unknown) =>
      write({ key, answered: correlation_id, status, body }),
    of: ({ key }: Intent): Wanted => wanted.get(key)!,
    /** All of it, as the file has it. */
    read: (): ReadonlyMap<string, Wanted> => {
      const read: Remembered = new Map()
      for (const text of readFileSync(file, 'utf8').split('\n')) if (text !== '') remember(read, JSON.parse(text) as Line)
      return read
    },
  }
}
