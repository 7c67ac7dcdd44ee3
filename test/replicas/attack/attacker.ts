import type { Held } from './acts.ts'
import { type Asking, ask, type Heard, isBusy, isSuccess } from './line.ts'
import { home, type Victim } from './victim.ts'

export interface Asked extends Pick<Heard, 'sent_at' | 'heard_at' | 'status'> {
  readonly what: 'use' | 'mint' | 'make a key' | 'grant a role'
  readonly base: string
  /** With which token; null where it was the secret. */
  readonly with_token: Held | null
}

const project = `/projects/${home.project_id}`
const resource = { type: 'allocation', tenant_id: home.org_id, project_id: home.project_id }
const uses: readonly Asking[] = [
  { method: 'POST', path: '/authz/decisions', body: { action: 'allocation.create', resource } },
  { method: 'GET', path: `/me/permissions?org_id=${home.org_id}&project_id=${home.project_id}` },
  { method: 'GET', path: `${project}/role-bindings?limit=1` },
]

const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString('utf8')).kid

/** Has the secret and all tokens that it gets, and keeps a journal of all that it asked for. */
export const attackerOf = ({ id, key_id, secret }: Victim) => {
  const asked: Asked[] = []
  const held: Held[] = []
  const note = async (what: Asked['what'], base: string, with_token: Held | null, asking: Asking): Promise<Heard> => {
    const heard = await ask(base, { ...asking, ...(with_token ? { token: with_token.token } : {}) })
    const { sent_at, heard_at, status } = heard
    asked.push({ what, base, with_token, sent_at, heard_at, status })
    return heard
  }

  const use = (base: string, token: Held, which: number) => note('use', base, token, uses[which % uses.length]!)
  const mint = async (base: string): Promise<Held | undefined> => {
    const body = { service_account_id: id, key_id, client_secret: secret }
    const heard = await note('mint', base, null, { method: 'POST', path: '/auth/service-account/token', body })
    if (!isSuccess(heard)) return undefined
    const { access_token: token, credential_session_id: jti } = heard.body
    const got: Held = { token, jti, kid: kidOf(token), sent_at: heard.sent_at, heard_at: heard.heard_at }
    held.push(got)
    return got
  }
  const makeKey = (base: string, token: Held) =>
    note('make a key', base, token, { method: 'POST', path: `${project}/service-accounts/${id}/keys`, body: {} })
  const grantRole = (base: string, token: Held) =>
    note('grant a role', base, token, {
      method: 'POST',
      path: `${project}/role-bindings`,
      body: { principal_type: 'service_account', principal_id: id, role_name: 'project_admin' },
    })

  /** All that could help once something has changed, a part of it in each lane. */
  const strikeBack = async (lane: number, base: string, first: Held): Promise<void> => {
    if (lane % 3 === 0) {
      const fresh = await mint(base)
      if (fresh) await use(base, fresh, lane)
    } else if (lane % 3 === 1) await makeKey(base, held[lane % held.length]!)
    else await grantRole(base, held[lane % held.length]!)
    await use(base, held[(lane * 7) % held.length]!, lane)
    await use(base, first, lane + 1)
  }

  return {
    asked,
    held,
    use,
    mint,
    /** Hammers one server until it sees a change, strikes back until the act is answered, and once more after that. */
    lane: async (lane: number, base: string, first: Held, isAnswered: () => boolean): Promise<void> => {
      while (!isAnswered()) {
        // Some get new tokens all the while, so that one is always about to be issued.
        const heard = lane % 10 === 9 ? await mint(base).then(() => use(base, first, lane)) : await use(base, first, lane)
        if (!isSuccess(heard) && !isBusy(heard)) break
      }
      while (!isAnswered()) await strikeBack(lane, base, first)
      await strikeBack(lane, base, first)
    },
  }
}
