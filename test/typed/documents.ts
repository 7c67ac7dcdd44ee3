import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'

const root = join(import.meta.dirname, '../..')

/** A shell block of a document, and what the document says that its commands answer. */
export interface Block {
  readonly document: string
  /** 1-based, as editors count. */
  readonly line: number
  readonly text: string
  /** Statuses of refusals that stand in the answer below it. */
  readonly refusals: readonly number[]
}

const fence = /^```(\w*)\n([\s\S]*?)^```$/gm
const refusal = /"(?:code|error)":"(\w+)"/g
/** OAuth has names of its own; only those that the documents show. */
const oauth: Readonly<Record<string, number>> = { invalid_client: 401 }

const statusOf = (code: string): number => {
  const status = Object.hasOwn(problems, code) ? problems[code as ProblemCode].status : oauth[code]
  if (status === undefined) throw new Error(`No refusal is called ${code}.`)
  return status
}

const fencesOf = (document: string) => {
  const text = readFileSync(join(root, document), 'utf8')
  return { text, fences: [...text.matchAll(fence)].map(({ 1: language, 2: body, index }) => ({ language, body: body!, index })) }
}

/** The pieces of TypeScript in a document, in their order. */
export const snippetsOf = (document: string): string[] =>
  fencesOf(document).fences.flatMap(({ language, body }) => (language === 'ts' ? [body] : []))

export const blocksOf = (document: string): Block[] => {
  const { text, fences } = fencesOf(document)
  return fences.flatMap(({ language, body, index }, at) => {
    if (language !== 'sh') return []
    const answer = fences[at + 1]
    const isShown = answer !== undefined && (answer.language === 'json' || answer.language === 'text')
    const refusals = isShown ? [...answer.body.matchAll(refusal)].map(([, code]) => statusOf(code!)) : []
    return [{ document, line: text.slice(0, index).split('\n').length, text: body, refusals }]
  })
}
