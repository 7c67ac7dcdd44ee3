import Type, { type Static } from 'typebox'
import { reasonCodes } from './reason-codes.ts'

const maybe = Type.Optional
const Word = (description: string) => maybe(Type.String({ description }))

/** What is wrong with one field of a request. */
export const FieldFault = Type.Object({
  in: Type.Union([Type.Literal('body'), Type.Literal('path'), Type.Literal('query'), Type.Literal('header')]),
  field: Type.String({ description: 'Where it stands, with `/` between the levels.' }),
  message: Type.String(),
})
export type FieldFault = Static<typeof FieldFault>

/**
 * The one shape of `details`, whatever the code: an object with some of these members. A new member is declared here, so that two rooms do
 * not find two names for the same thing.
 */
export const ProblemDetails = Type.Object(
  {
    // Not a list of them: a client must understand a later server.
    reason_code: maybe(
      Type.Unsafe<(typeof reasonCodes)[number]>({
        type: 'string',
        description: `Why the engine refused: ${reasonCodes.map((code) => `\`${code}\``).join(', ')}.`,
      }),
    ),
    action: Word('Of a 403: the action that is missing, or that a rule refuses.'),
    explain_path: Word('Of a 403: where to ask why, with that action and the resource. Absent for actors who cannot ask there.'),
    detail: Word('A stable word that narrows the code, such as `assignment_ceiling`.'),
    because: Word('A sentence for people.'),
    fields: maybe(Type.Array(FieldFault, { description: 'One entry for each field that is not valid.' })),
    position: maybe(
      Type.Object(
        { line: Type.Integer(), column: Type.Integer(), byte: Type.Integer() },
        {
          description:
            'Where malformed JSON stops being JSON; line and column begin with 1, the byte with 0. Columns are counted in characters.',
        },
      ),
    ),
    permissions: maybe(Type.Array(Type.String(), { description: 'The permissions that stand in the way.' })),
    blocked_by: maybe(
      Type.Array(Type.Object({ binding_id: Type.String(), principal_type: Type.String(), principal_id: Type.String() }), {
        description: 'The bindings that stand in the way; `count` tells how many there are in all.',
      }),
    ),
    question: maybe(Type.Integer({ description: 'Of a batch: the first question that is refused; the first of all is 0.' })),
    value: Word('The part of a value that is not valid.'),
    allowed: maybe(Type.Array(Type.String(), { description: 'What would be valid.' })),
    state: Word('The state that does not allow it.'),
    version: maybe(Type.Integer({ description: 'The version that is there now.' })),
    policy: Word('The policy that sets the limit.'),
    limit: maybe(Type.Unknown({ description: 'The limit that was met.' })),
    limit_scope: Word('The scope that sets it.'),
    count: maybe(Type.Integer({ description: 'How many there are.' })),
    type: Word('The type of a policy value.'),
    bounds: maybe(Type.Unknown({ description: 'The bounds of a policy value.' })),
    scopes: maybe(Type.Array(Type.String(), { description: 'The scopes at which the policy can have a value.' })),
    disable_mode: maybe(Type.Union([Type.String(), Type.Null()])),
    contribution_policy: Word('The contribution policy that does not allow it.'),
    kid: Word('The signing key that it is about.'),
    usable_at: Word('When that key may sign.'),
    credential_session_id: maybe(
      Type.Union([Type.String(), Type.Null()], { description: 'The credential that was issued with this idempotency key.' }),
    ),
    retry_after_seconds: maybe(Type.Integer()),
  },
  { title: 'ProblemDetails' },
)
export type ProblemDetails = Static<typeof ProblemDetails>
