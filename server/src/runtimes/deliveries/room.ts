import { room } from '#ground/kernel/room-door.ts'

export const deliveriesRoom = room({
  sees: ['http', 'authz', 'policies', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: ['delivery-routes.ts', 'delivery.ts', 'end-deliveries.ts', 'forget-deliveries.ts', 'wrap.ts'],
})
