/** A call that is allowed and complete: who makes it, on what, with what. What it does to the world is the caller's affair. */
export interface RightfulCall {
  readonly person: string
  readonly params: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, unknown>>
  /** What a list needs to be asked, where the path does not say it. */
  readonly query?: string
  /** Where it is not the person: whose credential is in the body. */
  readonly actor_id?: string
  /** Members of the body of which it names one. */
  readonly one_of?: readonly string[]
}
