import Type, { type Static } from 'typebox'
import { actorTypes } from './operation.ts'
import { Exactly, Named, OneOf } from './shapes.ts'

/** What a rule can look at. Which action carries which of them is in the action registry. */
export const attributeNames = [
  'region',
  'sku',
  'gpus',
  'flags',
  'source_ip',
  'minute_of_day',
  'weekday',
  'resource_type',
  'actor_type',
] as const
export type AttributeName = (typeof attributeNames)[number]

const maybe = Type.Optional
const Word = Type.String({ minLength: 1, maxLength: 100, pattern: '^[!-~]+$' })
const Words = Type.Array(Word, { minItems: 1, maxItems: 100 })
/** Of any words, so that what was written before a type was taken away can still be told; whoever writes one is held to the list. */
const ActorTypes = Type.Array(Word, {
  minItems: 1,
  maxItems: 100,
  description: `Types of actors: ${actorTypes.map((type) => `\`${type}\``).join(', ')}.`,
})
const Weekdays = Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), { minItems: 1, maxItems: 7, description: '1 is Monday.' })
const Ranges = Type.Array(Type.String({ minLength: 3, maxLength: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' }), {
  minItems: 1,
  maxItems: 100,
  description: 'CIDR ranges, IPv4 or IPv6.',
})
const Minute = Type.Integer({ minimum: 0, maximum: 1440 })
const Names = Type.Array(OneOf(attributeNames), { minItems: 1, maxItems: attributeNames.length })

const membership = {
  region: maybe(Words),
  sku: maybe(Words),
  resource_type: maybe(Words),
  actor_type: maybe(ActorTypes),
  weekday: maybe(Weekdays),
}
/** A test of nothing could only ever be unknown, and so deny everything. */
const Membership = Type.Object(membership, { additionalProperties: false, minProperties: 1 })
const Amount = Exactly({ gpus: Type.Integer({ minimum: 0, maximum: 1_000_000 }) })
const Flags = Exactly({ flags: Words })
const Addresses = Exactly({ source_ip: Ranges })

const tests = {
  in: maybe(Membership),
  not_in: maybe(Membership),
  at_least: maybe(Amount),
  at_most: maybe(Amount),
  has_any: maybe(Flags),
  has_all: maybe(Flags),
  has_none: maybe(Flags),
  within: maybe(Addresses),
  not_within: maybe(Addresses),
  between: maybe(
    Exactly({
      minute_of_day: Type.Array(Minute, {
        minItems: 2,
        maxItems: 2,
        description: 'From (included) until (excluded), in minutes since midnight; where the first is the larger one, across midnight.',
      }),
    }),
  ),
  present: maybe(Names),
  absent: maybe(Names),
}
/** Tests, all of which must hold. */
const Tests = Named('ConditionTests', tests)
const Group = Named('ConditionGroup', { ...tests, any: maybe(Type.Array(Tests, { minItems: 1, maxItems: 20 })), not: maybe(Tests) })

/** When a rule denies: all tests hold, one of `any` holds, and `not` does not. An empty one always holds. */
export const Condition = Named('Condition', { ...tests, any: maybe(Type.Array(Group, { minItems: 1, maxItems: 20 })), not: maybe(Group) })
export type Condition = Static<typeof Condition>
