import fastJson from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify'

/** The framework's own serializer, made when an operation first answers: together they take a tenth of a start. */
export const compileSerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  let spell: ((value: unknown) => string) | undefined
  return (value) => {
    spell ??= fastJson(schema)
    return spell(value)
  }
}
