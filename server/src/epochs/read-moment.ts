import type { Tx } from '../db/database.ts'
import { type Epoch, epochsOf } from './epoch-queries.ts'
import { type Moment, momentOf, platformScope } from './moment.ts'

const parseEpochs = (text: string | null): Epoch[] =>
  text === null
    ? []
    : text.split(',').map((each) => {
        const [id = '', value, stamp = ''] = each.split(' ')
        return { id, value: Number(value), stamp }
      })

/** The moment of this read, as the epochs of the platform and of these tenants tell it. */
export const readMoment = async (reader: Pick<Tx, 'one'>, tenant_ids: Iterable<string>): Promise<Moment> => {
  const scopes = new Set([platformScope, ...tenant_ids])
  const { now, epochs } = await reader.one(epochsOf([...scopes]))
  return momentOf(now, scopes, parseEpochs(epochs))
}
