/** Why there is no backup, or why nothing was restored: one sentence for the operator. The cause is for the log. */
export class CopyRefused extends Error {
  override readonly name = 'CopyRefused'
}
