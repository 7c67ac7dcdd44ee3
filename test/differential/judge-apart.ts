// A process of its own for one copy of the product: reads what was asked and expected, and prints how many of its answers differ. The
// first database in which one does is enough.
import { readFileSync } from 'node:fs'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import { unhurried } from '../unhurried.ts'
import { agree } from './compare.ts'
import { judge } from './engine.ts'
import type { Question, Verdict } from './question.ts'

/** Worlds in one database, as the engine is to be asked about them. */
export interface Asked {
  appUrl: string
  questions: Question[]
  expected: Verdict[]
}

let differences = 0
for (const { appUrl, questions, expected } of JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Asked[]) {
  const database = openDatabase({ url: appUrl, max_connections: 1, ...unhurried.database })
  const answers = await judge(database, questions)
  await database.close()
  differences = answers.filter((answer, at) => !agree(answer, expected[at]!)).length
  if (differences > 0) break
}
console.log(JSON.stringify({ differences }))
