import type { Answered } from '../live-server.ts'
import type { Move, MoveOf } from './moves.ts'
import { type Scope, type State, scopeIn } from './state.ts'
import { idOf, type Tried } from './world.ts'

const because = { reason: 'tried' }
const pathOf = ({ tier, id }: Scope): string => (tier === 'tenant' ? `/api/v1/orgs/${id}` : `/api/v1/projects/${id}`)
const anyId = '01890000-0000-7000-8000-000000000000'

type Call = readonly [method: string, path: string, body: object]

const endOf = { never: {}, past: { expires_at: '2020-01-01T00:00:00.000Z' } }
const later = () => ({ expires_at: new Date(Date.now() + 3_600_000).toISOString() })
const versionOf = (version: number | null) => (version === null ? {} : { version })

/** A binding's id, whoever made it: an upgrade makes new ones and does not say which. */
const bindingId = async ({ live }: Tried, { tier, id }: Scope, { of, role }: MoveOf<'end_binding'>): Promise<string> => {
  const [row] = await live.sql<{ id: string }>(
    `select id from ${tier}_role_bindings where ${tier}_id = $1 and principal_id = $2 and role_definition_id = $3 and deleted_at is null`,
    [id, idOf(of), role],
  )
  return row?.id ?? anyId
}

const ofRole = (state: State, move: MoveOf<'update' | 'delete' | 'enable' | 'disable' | 'upgrade'>): string =>
  `${pathOf(scopeIn(state, move.scope))}/roles/${move.role}`

const callOf = async (tried: Tried, state: State, move: Move): Promise<Call> => {
  const path = 'scope' in move ? pathOf(scopeIn(state, move.scope)) : ''
  switch (move.kind) {
    case 'define':
      return ['POST', `${path}/roles`, { name: move.name, permissions: move.keys }]
    case 'update':
      return ['PATCH', ofRole(state, move), { permissions: move.keys, expected_version: move.expected, ...because }]
    case 'delete':
      return ['DELETE', ofRole(state, move), because]
    case 'enable':
      return ['POST', `${ofRole(state, move)}/enable`, because]
    case 'disable':
      return ['POST', `${ofRole(state, move)}/disable`, { mode: move.mode, ...because }]
    case 'disable_builtin':
      return ['POST', `/api/v1/admin/roles/${move.role}/disable`, { mode: move.mode, ...because }]
    case 'enable_builtin':
      return ['POST', `/api/v1/admin/roles/${move.role}/enable`, because]
    case 'bind': {
      const ends = move.end === 'later' ? later() : endOf[move.end]
      const to = { principal_type: 'user', principal_id: idOf(move.to) }
      return ['POST', `${path}/role-bindings`, { ...to, role_id: move.role, ...versionOf(move.version), ...ends }]
    }
    case 'end_binding':
      return ['DELETE', `${path}/role-bindings/${await bindingId(tried, scopeIn(state, move.scope), move)}`, {}]
    case 'add_member':
      return ['POST', `${path}/members`, { user_id: idOf(move.to), role_name: state.roles.get(move.role)!.name }]
    case 'remove_member':
      return ['DELETE', `${path}/members/${idOf(move.of)}`, {}]
    case 'invite':
      return ['POST', `${path}/invitations`, { email: await addressOf(tried, move.to), role_id: move.role, ...versionOf(move.version) }]
    case 'withdraw':
      return ['DELETE', `${path}/invitations/${move.invitation}`, {}]
    case 'accept':
      return ['POST', '/api/v1/invitations/accept', { invitation_id: move.invitation }]
    case 'upgrade':
      return ['POST', `${ofRole(state, move)}/bulk-upgrade`, await previewed(tried, state, move)]
    case 'appoint':
      return ['POST', `${path}/owner`, { user_id: idOf(move.to), ...because }]
    case 'found_project': {
      const owner = move.owner === null ? {} : { owner_user_id: idOf(move.owner) }
      return ['POST', `${path}/projects`, { name: move.slug, slug: move.slug, ...owner }]
    }
    case 'make_account':
      return ['POST', `${path}/service-accounts`, { name: move.slug, slug: move.slug }]
    case 'bind_account':
      return ['POST', `${path}/role-bindings`, { principal_type: 'service_account', principal_id: move.account, role_id: move.role }]
    case 'make_key':
      return ['POST', `${path}/service-accounts/${move.account}/keys`, {}]
    case 'bind_platform':
      return [
        'POST',
        '/api/v1/admin/platform-roles/bindings',
        { principal_type: 'user', principal_id: idOf(move.to), role_name: move.role_name },
      ]
  }
}

const addresses = new Map<string, string>()
const addressOf = async ({ live }: Tried, person: string): Promise<string> => {
  if (addresses.size === 0)
    for (const { id, email } of await live.sql<{ id: string; email: string }>(`select id, email from users where email_verified`))
      addresses.set(id, email)
  return addresses.get(idOf(person))!
}

/** Whoever may not look upgrades blindly; that is tried too. */
const previewed = async ({ live, url }: Tried, state: State, move: MoveOf<'upgrade'>): Promise<object> => {
  const between = { from_version: move.from, to_version: move.to }
  const seen = await live.call(move.by, 'POST', `${ofRole(state, move)}/bulk-upgrade/preview`, { body: between }, url)
  return { ...between, preview_hash: seen.body?.preview_hash ?? '0'.repeat(64), ...because }
}

export const send = async (tried: Tried, state: State, move: Move): Promise<Answered> => {
  const [method, path, body] = await callOf(tried, state, move)
  return tried.live.call(move.by, method, path, { body }, tried.url)
}

/** The id of what a call made, if it made something that later moves name. */
export const madeBy = (move: Move, { body }: Answered): string => {
  if (move.kind === 'invite') return body.invitation?.id ?? ''
  return ['define', 'found_project', 'make_account'].includes(move.kind) ? body.id : ''
}

/** A move as a line to read. */
export const told = (state: State, move: Move): string => {
  const named = (value: unknown): unknown => {
    if (typeof value !== 'string') return value
    const invitation = state.invitations.get(value)
    if (invitation) return `invitation to ${invitation.to} by ${invitation.inviter}`
    return state.scopes.get(value)?.name ?? state.roles.get(value)?.name ?? value
  }
  const { kind, by, ...rest } = move
  const parts = Object.entries(rest).map(([name, value]) => `${name} ${Array.isArray(value) ? value.join('+') : named(value)}`)
  return `${by}: ${kind} ${parts.join(', ')}`
}
