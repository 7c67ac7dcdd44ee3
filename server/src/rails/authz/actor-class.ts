import type { ActorType, Operation } from '@gatehouse/contract/operation'
import type { Statement } from '#ground/db/statement.ts'

/**
 * A class of actors, as the room declares it that knows them: all that the rails must know of those who ask, and no more. Nothing on the rails
 * asks for a class by its name.
 */
export interface ActorClass<T extends ActorType | 'system' = ActorType | 'system'> {
  readonly type: T
  /** As documents call one of them. */
  readonly called: string
  /** How the record tells who it was. */
  readonly told: (id: string | null, name: string | null) => string
  /** The noun that such an actor is, where the record calls it by the actor's own id. */
  readonly noun: string | null
  /** With which limit its requests are counted. */
  readonly rate: 'api' | 'machine'
  /** `thinned`: it asks all the time, so the record has the first refusals and then fewer, each a serious one. */
  readonly refusals: 'each' | 'thinned'
  /** `home`: what one was refused is the business of its own tenant, wherever it asked. */
  readonly refused_at: 'place' | 'home'
  /** `recorded`: also that one looked. */
  readonly reads: 'unrecorded' | 'recorded'
  /** The parameter of a path by which it can name itself, and nobody else. */
  readonly own_param: string | null
  /** `identified`: one that is disabled is not identified, so nobody needs to look again. */
  readonly standing: 'read' | 'identified'
  /** Its tenant, of one that has come without a token. */
  readonly home?: (id: string) => Statement<{ org_id: string }>
  /** What the API's document says of an operation that admits it. */
  readonly describe?: (operation: Operation) => string | undefined
}

export type ActorClasses = { readonly [T in ActorType | 'system']: ActorClass<T> }

const someone = (type: string) => (id: string | null, name: string | null) => `${name ?? 'Somebody'} (${type} ${id})`

/** What holds of most machines; a room says what is different of its own. */
export const machineClass = <const T extends ActorType>(type: T, called: string) =>
  ({
    ...{ type, called, told: someone(type), noun: null, rate: 'machine', refusals: 'each', refused_at: 'place' },
    ...{ reads: 'unrecorded', own_param: null, standing: 'read' },
  }) as const satisfies ActorClass<T>

export const personClass = <const T extends ActorType>(type: T, called: string) =>
  ({ ...machineClass(type, called), noun: type, rate: 'api' }) as const satisfies ActorClass<T>
