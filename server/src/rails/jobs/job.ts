/** Work that a process does by itself, again and again. `P` is what it needs of the process. */
export interface Job<P> {
  readonly name: string
  /** What it is doing, as the log says it. */
  readonly doing: string
  readonly every_seconds: number | ((parts: P) => number)
  /** It is also run, and waited for, before the server listens. */
  readonly at_start?: boolean
  /** It is also run when the server has answered its last request. */
  readonly at_end?: boolean
  readonly run: (parts: P) => Promise<unknown>
}
