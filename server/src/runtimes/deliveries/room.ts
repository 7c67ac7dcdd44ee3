import type { Database } from '#ground/db/database.ts'
import { room } from '#ground/kernel/room-door.ts'
import { deliveriesSentences } from './deliveries-sentences.ts'
import { forgetDeliveries } from './forget-deliveries.ts'

export const deliveriesRoom = room({
  sees: ['http', 'authz', 'policies', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: ['delivery-routes.ts', 'delivery.ts', 'end-deliveries.ts', 'wrap.ts'],
  jobs: [
    {
      name: 'forget-deliveries',
      doing: 'sweeping deliveries that are over',
      every_seconds: 600,
      run: ({ database }: { readonly database: Database }) => forgetDeliveries(database),
    },
  ],
  sentences: deliveriesSentences,
})
