type Templates = Readonly<Record<string, string>>

/** What a room says of its actions when they are told, by the action; `{name}` is taken from the metadata of the row. */
export interface Sentences {
  readonly done?: Templates
  /** Where the record says that something there was changed (`updated`). */
  readonly updated?: Templates
  /** Where a report came later than one that was taken before it (`is_taken` is false). */
  readonly late?: Templates
  /** What was refused for a reason that the record knows and the caller does not (`why`). */
  readonly refused?: Templates
}
export type AllSentences = Required<Sentences>

/** Those of all rooms together; an action that two of them tell is a mistake. */
export const allSentences = (rooms: readonly Sentences[]): AllSentences => {
  const together = (kind: keyof Sentences): Templates => {
    const entries = rooms.flatMap((each) => Object.entries(each[kind] ?? {}))
    const told = Object.fromEntries(entries)
    if (Object.keys(told).length < entries.length) throw new Error(`an action is told by two rooms (${kind})`)
    return told
  }
  return { done: together('done'), updated: together('updated'), late: together('late'), refused: together('refused') }
}
