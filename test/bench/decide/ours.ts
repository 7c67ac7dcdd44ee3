import { decide } from '@gatehouse/server/authz/decide'
import { factsOf, nobody } from '@gatehouse/server/authz/facts'
import { type Standing, type StandingKey, standings } from '@gatehouse/server/authz/standing'
import { keepFresh, want } from '@gatehouse/server/epochs/fresh'
import type { Constraint } from '@gatehouse/server/policies/constraint'
import { type ChainEnd, constraintChains } from '@gatehouse/server/policies/constraint-chain'
import type { Engine } from './engine.ts'
import type { Question } from './questions.ts'

const now = new Date().toISOString()
const none = {}

const isAllowed = ({ user_id, action, tenant_id, project_id }: Question, standing: Standing | undefined, chain: readonly Constraint[]) => {
  const actor = { type: 'user', id: user_id } as const
  const place = { id: null, tenant_id, project_id, relations: [] }
  const facts = factsOf(standing ?? nobody(actor), chain, { actor, place, resource_type: 'allocation', attributes: none, now })
  return decide(action, facts).decision === 'allow'
}

export const ours: Engine = {
  name: 'gatehouse',
  prepare: async ({ database }, questions) => {
    const people = new Map<string, Standing>()
    const chains = new Map<string, readonly Constraint[]>()
    const keys = new Map<string, StandingKey>(questions.map((question) => [standings.textOf(question), question]))
    const ends = new Map<string, ChainEnd>(questions.map((question) => [constraintChains.textOf(question), question]))
    const batches = <T>(of: ReadonlyMap<string, T>): [string, T][][] => {
      const entries = [...of]
      return Array.from({ length: Math.ceil(entries.length / 1000) }, (_, index) => entries.slice(index * 1000, index * 1000 + 1000))
    }
    for (const batch of batches(keys)) {
      const read = await database.transaction('read', (tx) =>
        standings.load(
          tx,
          batch.map(([, key]) => key),
        ),
      )
      batch.forEach(([text], index) => {
        const standing = read[index]
        if (standing) people.set(text, standing)
      })
    }
    for (const batch of batches(ends)) {
      const read = await database.transaction('read', (tx) =>
        constraintChains.load(
          tx,
          batch.map(([, end]) => end),
        ),
      )
      batch.forEach(([text], index) => {
        chains.set(text, read[index] ?? [])
      })
    }
    return (question) => isAllowed(question, people.get(standings.textOf(question)), chains.get(constraintChains.textOf(question))!)
  },
  // The product's own reader with room for nothing: whatever is asked for is read.
  cold: async ({ database }) => {
    const fresh = keepFresh(database, { most_entries: 1, limit_ms: 60_000 })
    return async (question) => {
      const { values } = await fresh.forRequest().read([want(standings, question), want(constraintChains, question)])
      return isAllowed(question, values[0], values[1]!)
    }
  },
}
