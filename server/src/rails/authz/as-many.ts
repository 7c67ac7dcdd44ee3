import { sqlPart } from '#ground/db/statement.ts'

const one = sqlPart('limit 1')
const several = sqlPart('')

/**
 * How many places a list of them holds, for the planner. Of a list PostgreSQL expects ten, finds a plan for that too dear to keep, and
 * plans each question about one place anew, which costs three times as much as answering it. Of several it must not expect one: what it
 * then keeps is bad for sixty.
 */
export const asMany = (places: readonly unknown[]) => (places.length === 1 ? one : several)
