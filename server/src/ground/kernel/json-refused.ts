/** What JSON.parse would have accepted, or quietly changed, and we do not. The message is for the caller and quotes nothing. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused'
  /** Within which member of the whole, where it is a text that was refused. */
  readonly member: string | undefined
  /** After how many characters the parser stopped, where the text is not JSON. */
  readonly position: number | undefined
  constructor(message: string, { member, position }: { readonly member?: string | undefined; readonly position?: number } = {}) {
    super(message)
    this.member = member
    this.position = position
  }
}
