import type { Answered, Sending } from '../live-server.ts'
import type { FaultWorld } from './world.ts'

/** Asks as a person of the world, of whichever server it is to be this time. */
export const callingOn =
  (world: FaultWorld, urlOf: () => string) =>
  async (person: string | null, method: string, path: string, { body }: Sending = {}): Promise<Answered> => {
    const response = await fetch(`${urlOf()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await world.tokenOf(person!)}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text), text }
  }
