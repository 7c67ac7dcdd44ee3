import { Agent, request } from 'node:http'

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: read as a stranger would, without our types
  readonly body: any
}

/** Connections stay open: a campaign asks a few hundred thousand times. */
const agent = new Agent({ keepAlive: true })

export const send = (base: string, method: string, path: string, token: string, body?: unknown, key?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body)
    const asking = request(`${base}${path}`, {
      agent,
      method,
      headers: {
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
      },
    })
    asking.on('error', reject).on('response', (response) => {
      const parts: Buffer[] = []
      response
        .on('data', (part: Buffer) => parts.push(part))
        .on('error', reject)
        .on('end', () => {
          const text = Buffer.concat(parts).toString('utf8')
          resolve({ status: response.statusCode ?? 0, body: text === '' ? null : JSON.parse(text) })
        })
    })
    asking.end(bytes)
  })

/** Whom it is about, and with what he himself asks. */
export interface About {
  readonly type: 'user' | 'service_account' | 'shared_runtime_operator'
  readonly id: string
  readonly token: string
}

/** A question about somebody, and who puts it. */
export interface Question {
  readonly action: string
  readonly resource: { readonly type: string; readonly id?: string; readonly tenant_id?: string; readonly project_id?: string }
}

interface Asked {
  readonly about: About
  /** Somebody who may ask about everybody. */
  readonly other: string
  readonly question: Question
}

/** Whether an answer was an allow; null where there was no time for one, which proves nothing. */
export const allowIn = async (asking: Promise<Answer>, isAllow: (answer: Answer) => boolean): Promise<boolean | null> => {
  const answer = await asking
  return answer.status === 503 ? null : isAllow(answer)
}
const isAllowed = ({ body }: Answer) => body?.decision === 'allow'

/** Every way to learn what somebody may do. Each says whether the answer was an allow; a refusal of any kind is none. */
export const forms = {
  alone: (base: string, { about, question }: Asked) =>
    allowIn(send(base, 'POST', '/api/v1/authz/decisions', about.token, question), isAllowed),
  in_a_batch: (base: string, { about, question }: Asked) => {
    const questions = [{ action: 'me.read', resource: { type: 'user', id: about.id } }, question]
    const asking = send(base, 'POST', '/api/v1/authz/decisions/batch', about.token, { questions })
    return allowIn(asking, ({ body }) => body?.decisions?.[1]?.decision === 'allow')
  },
  explained: (base: string, { about, question }: Asked) =>
    allowIn(send(base, 'POST', '/api/v1/authz/explain', about.token, question), isAllowed),
  listed: (base: string, { about, question: { action, resource } }: Asked) => {
    const { tenant_id, project_id } = resource
    const query = new URLSearchParams({ ...(tenant_id ? { org_id: tenant_id } : {}), ...(project_id ? { project_id } : {}) })
    const asking = send(base, 'GET', `/api/v1/me/permissions?${query}`, about.token)
    return allowIn(asking, ({ body }) => body?.permissions?.includes(action) === true)
  },
  by_another: (base: string, { about, other, question }: Asked) => {
    const asked = { actor: { type: about.type, id: about.id }, ...question }
    return allowIn(send(base, 'POST', '/api/v1/authz/decisions', other, asked), isAllowed)
  },
} satisfies Record<string, (base: string, asked: Asked) => Promise<boolean | null>>

export type Form = keyof typeof forms
export const formNames = Object.keys(forms) as Form[]
