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

/** The question for a moment, as the epochs of the platform and of these tenants tell it: one who knows it can send it ahead. */
export const askMoment = (tenant_ids: Iterable<string>) => {
  const scopes = new Set([platformScope, ...tenant_ids])
  const statement = epochsOf([...scopes])
  return {
    statement,
    /** The moment of this read. */
    by: async (reader: Pick<Tx, 'one'>): Promise<Moment> => {
      const { now, epochs } = await reader.one(statement)
      return momentOf(now, scopes, parseEpochs(epochs))
    },
  }
}

export const readMoment = (reader: Pick<Tx, 'one'>, tenant_ids: Iterable<string>): Promise<Moment> => askMoment(tenant_ids).by(reader)
