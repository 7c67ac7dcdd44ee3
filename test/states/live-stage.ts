import { randomBytes } from 'node:crypto'
import { doorCaller, nodeKeys, pemOf, readToken } from '../enrolled-node.ts'
import { type Asking, bearing, nodeBy, type Stage } from '../faults/recipes/recipe.ts'
import { operationOf } from '../faults/recipes.ts'
import { stockNodes, stockPeople } from '../faults/world.ts'
import { formOf, pathOf } from '../fuzz/rightful-calls.ts'
import type { LiveServer } from '../live-server.ts'

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: of whichever operation
  readonly body: any
}

/** The recipes' stage on a server of this process, so that they and the scenes of other tests meet in one database. */
export const liveStage = async (live: LiveServer) => {
  const people = await stockPeople(live.sql, live.issuer.issuer, 400)
  const nodes = await stockNodes(live.sql, 100)
  const certificates = new Map<string, { key: string; cert: string; ca: string }>()
  const word = () => `w-${randomBytes(6).toString('hex')}`

  const askDoor = async ({ person, body }: Asking, method: string, path: string, hasBody: boolean): Promise<Answer> => {
    const shown = certificates.get(person) ?? { ca: pemOf(readToken(body.enrolment_token as string).ca) }
    const { call, stop } = doorCaller(live.nodes.url, shown)
    return call(method, path, hasBody ? body : undefined, {}).finally(stop)
  }
  /** Asks for an operation as whoever the asking names. */
  const ask = async (operation: string, asking: Asking): Promise<Answer> => {
    const { method, path: pattern, body: shape, listener, speaks } = operationOf(operation)
    const path = pathOf(pattern, asking.params)
    const { person, body } = asking
    if (listener === 'nodes') return askDoor(asking, method, path, shape !== undefined)
    if (speaks === 'oauth')
      return live.call(null, method, path, { raw: formOf(body), headers: { 'content-type': 'application/x-www-form-urlencoded' } })
    const sent = shape === undefined ? {} : { body }
    if (!person.startsWith(bearing)) return live.call(person, method, path, sent)
    return live.call(null, method, path, { ...sent, headers: { authorization: `Bearer ${person.slice(bearing.length)}` } })
  }
  const done: Stage['done'] = async (operation, asking) => {
    const { status, body } = await ask(operation, asking)
    if (status !== operationOf(operation).success) throw new Error(`${operation} answered ${status} ${JSON.stringify(body)}`)
    return body
  }
  const taken = <T>(stock: T[]) => {
    const next = stock.pop()
    if (next === undefined) throw new Error('the stock is used up')
    return next
  }
  const stage: Stage = {
    word,
    person: () => taken(people),
    node: () => taken(nodes),
    done,
    enrolled: async () => {
      const kind = { region: word(), sku: word() }
      const body = { name: word(), ...kind, gpus: 1, reason: word() }
      const made = (await done('node.create', { person: 'ada', params: {}, body })) as unknown as {
        node: { id: string }
        enrolment_token: string
      }
      const [person, { key, csr }] = [`${nodeBy}${made.node.id}`, await nodeKeys()]
      const vouched: unknown = await done('node.enrol', { person, params: {}, body: { enrolment_token: made.enrolment_token, csr } })
      const { certificate: cert, authority: ca } = vouched as { certificate: string; authority: string }
      certificates.set(person, { key, cert, ca })
      return { person, node_id: made.node.id, ...kind }
    },
  }
  return { stage, ask }
}
