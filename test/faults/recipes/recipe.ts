import type { Intent } from '../journal.ts'

export type Asking = Pick<Intent, 'person' | 'params' | 'body'>

/** With this before it, a `person` is a machine, and the rest is its token. */
export const bearing = 'bearer '

/** With this before it, a `person` is a node, which the rest names. */
export const nodeBy = 'node '

/** What a recipe may use to set its scene. */
export interface Stage {
  /** A word that nothing else has. */
  readonly word: () => string
  /** Somebody who is a member of the seeded organization and project, and whom no other recipe uses. */
  readonly person: () => { id: string; subject: string }
  /** A node that has enrolled, and that no other recipe uses. */
  readonly node: () => string
  /** A node that enrols, and speaks for itself at the nodes' door; of a kind of its own, so that nothing else is placed on it. */
  readonly enrolled: () => Promise<{ person: string; node_id: string; region: string; sku: string }>
  /** Has something done by a server that nobody kills; returns its answer. */
  readonly done: (operation: string, asking: Asking) => Promise<{ id: string }>
}

/** One part of an effect: how many of it there are now. */
interface Part {
  readonly what: string
  readonly text: string
  readonly values: readonly unknown[]
}

export interface Recipe {
  /** What it holds that others wait for; without it, it has a place of its own. */
  readonly lock?: 'seeded organization' | 'platform chain'
  /** It needs something of which there is one: no other such case may be under way, whoever waits for it. */
  readonly is_alone?: true
  readonly prepare: (stage: Stage) => Promise<Asking>
  /** All parts are there once, or none is. */
  readonly effect: (asking: Asking) => readonly Part[]
  /** The actions that it records, once each. */
  readonly actions?: readonly string[]
}

/** Those of one room, by operation. */
export type Recipes = Readonly<Record<string, Recipe>>

export const part = (what: string, text: string, ...values: unknown[]): Part => ({
  what,
  text: `select count(*)::int as n from ${text}`,
  values,
})
