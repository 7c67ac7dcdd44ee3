/** One call of the public API that could change who may do what. People go by their names, all else by its id. */
export type Move =
  | { readonly kind: 'define'; readonly by: string; readonly scope: string; readonly name: string; readonly keys: readonly string[] }
  | ({ readonly kind: 'update'; readonly keys: readonly string[]; readonly expected: number } & OfRole)
  | ({ readonly kind: 'delete' } & OfRole)
  | ({ readonly kind: 'enable' } & OfRole)
  | ({ readonly kind: 'disable'; readonly mode: Mode } & OfRole)
  | { readonly kind: 'disable_builtin'; readonly by: string; readonly role: string; readonly mode: Mode }
  | { readonly kind: 'enable_builtin'; readonly by: string; readonly role: string }
  | ({ readonly kind: 'bind'; readonly to: string; readonly version: number | null; readonly end: End } & OfRole)
  | ({ readonly kind: 'end_binding'; readonly of: string } & OfRole)
  | ({ readonly kind: 'add_member'; readonly to: string } & OfRole)
  | { readonly kind: 'remove_member'; readonly by: string; readonly scope: string; readonly of: string }
  | ({ readonly kind: 'invite'; readonly to: string; readonly version: number | null } & OfRole)
  | { readonly kind: 'withdraw'; readonly by: string; readonly scope: string; readonly invitation: string }
  | { readonly kind: 'accept'; readonly by: string; readonly invitation: string }
  | ({ readonly kind: 'upgrade'; readonly from: number; readonly to: number } & OfRole)
  | { readonly kind: 'appoint'; readonly by: string; readonly scope: string; readonly to: string }
  | { readonly kind: 'found_project'; readonly by: string; readonly scope: string; readonly slug: string; readonly owner: string | null }
  | { readonly kind: 'make_account'; readonly by: string; readonly scope: string; readonly slug: string }
  | ({ readonly kind: 'bind_account'; readonly account: string } & OfRole)
  | { readonly kind: 'make_key'; readonly by: string; readonly scope: string; readonly account: string }
  | { readonly kind: 'bind_platform'; readonly by: string; readonly to: string; readonly role_name: string }

interface OfRole {
  readonly by: string
  readonly scope: string
  readonly role: string
}
export type Mode = 'block_new_only' | 'block_all_now'
/** Whether a binding ends: never, in an hour, or before it began. */
export type End = 'never' | 'later' | 'past'

export type MoveOf<K extends Move['kind']> = Extract<Move, { kind: K }>
