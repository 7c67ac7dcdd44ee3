import * as deliveries from '@gatehouse/contract/runtime-credentials'
import { answer } from '#rails/http/answer.ts'
import type { DeliveryOwners } from './delivery.ts'
import { unwrapDelivery } from './unwrap-delivery.ts'

export const deliveryRoutes = (owners: DeliveryOwners) => [answer(deliveries.unwrapDelivery, unwrapDelivery(owners))]
