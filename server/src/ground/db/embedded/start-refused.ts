/** A start that cannot succeed as things stand. Its message is a sentence for the person at the terminal; they need no stack trace. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused'
}
