import { type Answered, type LiveServer, seeded } from '../live-server.ts'
import { machineOn } from '../machine.ts'
import { auroraHome, machineWithSecret } from '../machine-credential.ts'

/** A server to attack, and the database that it stands on. */
export interface Ground {
  readonly live: LiveServer
  readonly url: string
  /** What its log says of a request when it is over. */
  readonly lineOf: (correlation_id: string) => Promise<string>
}

/** Tries what must not succeed; says what did. */
export type Attack = (ground: Ground) => Promise<readonly string[]>

/** On a busy machine an answer may be that there was no time for one. */
const insisting = async (asking: () => Promise<Answered>): Promise<Answered> => {
  for (let tries = 1; ; tries += 1) {
    const answered = await asking()
    if (answered.body?.code !== 'dependency_unavailable' || tries === 20) return answered
  }
}

export const home = auroraHome
const asking = { action: 'allocation.create', resource: { type: 'allocation', tenant_id: home.org_id, project_id: home.project_id } }

/** What is said to whoever shows this token and asks what its account may do. */
export const shown = ({ live, url }: Ground, token: string, query = ''): Promise<Answered> =>
  insisting(() =>
    live.call(null, 'POST', `/api/v1/authz/decisions${query}`, { body: asking, headers: { authorization: `Bearer ${token}` } }, url),
  )

/** A service account on that server. A build that refuses everybody proves nothing: a rightful token must be accepted first. */
export const victimOn = async (ground: Ground) => {
  const victim = await machineOn(ground.live.sql, home)
  const rightful = await victim.mint()
  const { status, text } = await shown(ground, rightful.token)
  if (status !== 200) throw new Error(`a rightful token is answered ${status} ${text}`)
  return { ...victim, rightful }
}
export type Victim = Awaited<ReturnType<typeof victimOn>>

/** The same with a secret: it must be given a token, and by that be accepted. */
export const askerOn = async (ground: Ground, role?: string) => {
  const asker = await machineWithSecret(ground.live, home, role)
  const ask = (body: object = {}, headers: Record<string, string> = {}) => insisting(() => asker.ask(body, headers, ground.url))
  const { status, body, text } = await ask()
  if (status !== 200) throw new Error(`the right secret is answered ${status} ${text}`)
  const used = await shown(ground, body.access_token)
  if (used.status !== 200) throw new Error(`a token that was issued is answered ${used.status} ${used.text}`)
  return { ...asker, ask }
}

/** Which of these tokens are answered by anything but 401. */
export const notRefused = async (ground: Ground, tokens: Readonly<Record<string, string>>): Promise<string[]> => {
  const found: string[] = []
  for (const [what, token] of Object.entries(tokens)) {
    const { status } = await shown(ground, token)
    if (status !== 401) found.push(`${what} is answered ${status}`)
  }
  return found
}

/** Does it, attacks, and undoes it. */
export const during = async <T>(doIt: () => Promise<unknown>, attack: () => Promise<T>, undo: () => Promise<unknown>): Promise<T> => {
  await doIt()
  try {
    return await attack()
  } finally {
    await undo()
  }
}

/** What the record says of a request: its actions, in their order. */
export const recordedOf = async ({ live }: Ground, { headers }: Answered): Promise<string> =>
  (await live.auditOf(headers.get('x-request-id')!)).map(({ action }) => action).join(' ')

export const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
export const somebody = seeded.user('ada')
