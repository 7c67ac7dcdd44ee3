import recorded from './examples.json' with { type: 'json' }

/** How an operation was asked once, and what it answered; recorded by `npm run examples`, never written by hand. */
export interface Example {
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly reply?: unknown
}

export const examples: Readonly<Record<string, Example>> = recorded
