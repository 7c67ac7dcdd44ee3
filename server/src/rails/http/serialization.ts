import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

type Spell = (value: unknown) => string

/** Kept by schema: a process may have several servers, and each has two listeners with operations of the same contract. */
const made = new WeakMap<object, Spell>()

/** The framework's own serializer, made when an operation first answers: together they take a tenth of a start. */
export const compileSerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  let spell: Spell | undefined
  return (value) => {
    if (!spell) {
      spell = made.get(schema) ?? fastJson(schema)
      made.set(schema, spell)
    }
    return spell(value)
  }
}
