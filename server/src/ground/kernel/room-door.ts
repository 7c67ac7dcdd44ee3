/**
 * What a room says of itself, once: all that the process, the rails, the tools and the tests need to know of it. What each part must be is
 * said by the room that reads it; `server/src/rooms.ts` collects the parts, and one of another kind does not compile there.
 */
export interface Door {
  /** The rooms that it imports from. One that it does not import from, or imports from without saying so, fails a check. */
  readonly sees: readonly string[]
  /** The files that other rooms import. The others are its own. */
  readonly shows: readonly string[]
  /** Columns that hold sealed secrets: what re-wrapping must reach. */
  readonly sealed?: readonly unknown[]
  /** The classes of actors that it knows. */
  readonly actors?: readonly unknown[]
  /** What the record can name of its tables. */
  readonly nouns?: readonly unknown[]
  /** What the record says of what is done in it. */
  readonly sentences?: unknown
  /** What it does by itself, again and again: `rails/jobs` runs it. */
  readonly jobs?: readonly unknown[]
}

/** Keeps the exact type of what is declared; a part that no door has does not compile. */
export const room = <const D extends Door>(door: D & Record<Exclude<keyof D, keyof Door>, never>): D => door
