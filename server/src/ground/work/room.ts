import { room } from '../kernel/room-door.ts'

export const workRoom = room({
  sees: ['db', 'kernel'],
  shows: ['work.ts'],
  /** The product itself: a first sign-in, a cascade, an expiry. It asks for nothing over the network. */
  actors: [
    {
      type: 'system',
      called: 'the product itself',
      told: (id: string | null) => `The system (${id})`,
      noun: null,
      rate: 'machine',
      refusals: 'each',
      refused_at: 'place',
      reads: 'unrecorded',
      own_param: null,
      standing: 'read',
    },
  ],
})
