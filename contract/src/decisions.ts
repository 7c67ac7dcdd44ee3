import Type, { type Static, type TProperties } from 'typebox'
import { actorTypes, operation } from './operation.ts'
import { reasonCodes } from './reason-codes.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf } from './shapes.ts'

const maybe = Type.Optional

const ActionKey = Type.String({
  minLength: 3,
  maxLength: 100,
  pattern: '^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)+$',
  description: 'A key of the action registry.',
})

export const Question = Named('Question', {
  actor: maybe(Exactly({ type: OneOf(actorTypes), id: Id('actor') })),
  action: ActionKey,
  resource: Exactly({
    type: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z][a-z0-9_]*$' }),
    id: maybe(Id('resource')),
    tenant_id: maybe(Id('org')),
    project_id: maybe(Id('project')),
  }),
  attributes: maybe(
    Type.Object(
      {
        region: maybe(Type.Unknown()),
        sku: maybe(Type.Unknown()),
        gpus: maybe(Type.Unknown()),
        flags: maybe(Type.Unknown()),
        source_ip: maybe(Type.Unknown()),
        time: maybe(Type.Unknown()),
      },
      { additionalProperties: false, description: 'What the request says of itself. A rule that cannot read a value denies.' },
    ),
  ),
})
export type Question = Static<typeof Question>

const Scope = OneOf(['global', 'tenant', 'project'])
const outcome = {
  decision: OneOf(['allow', 'deny']),
  reason_code: Nullable(OneOf(reasonCodes)),
  applied_scope: Scope,
  policy_source: OneOf(['in_code', 'policy_values', 'opa']),
}

const BoundRole = Exactly({
  binding_id: Nullable(Id('binding')),
  scope: Scope,
  role_id: Id('role'),
  role_version_id: Id('role version'),
  role_name: Type.String(),
  version: Type.Integer(),
})
const DecidingRule = Exactly({ constraint_id: Id('constraint'), key: Type.String(), version: Type.Integer(), scope: Scope })

export const DecidedBy = Exactly({
  bindings: Type.Array(BoundRole, { description: 'The role bindings that give the action, or would if their role were not disabled.' }),
  constraint: Nullable(DecidingRule),
})
export type DecidedBy = Static<typeof DecidedBy>

const revision = {
  revision: Type.String({
    description:
      'The state of the facts: as long as it is the same, nothing was changed. What ends by the clock ends without moving it. To be compared, not read.',
  }),
}
const answered = {
  ...outcome,
  decision_id: Id('decision'),
  break_glass_id: Nullable(Id('elevation')),
  decided_by: DecidedBy,
}
export const Answered = Exactly({ ...answered, ...revision })
export type Answered = Static<typeof Answered>

export const stepNames = ['actor', 'token', 'override', 'elevation', 'membership', 'permission', 'state', 'constraints'] as const
export const Explained = Exactly({
  ...answered,
  ...revision,
  steps: Type.Array(
    Exactly({
      step: OneOf(stepNames),
      outcome: OneOf(['passed', 'allowed', 'denied']),
      because: Type.String(),
    }),
    { description: 'In their order, up to the one that settled the matter.' },
  ),
  roles: Type.Array(
    Exactly({
      ...BoundRole.properties,
      state: Type.String(),
      expires_at: Nullable(Instant),
      gives: Type.Boolean({ description: 'Whether this role gives the action.' }),
    }),
    { description: 'The roles of the actor in the scopes whose roles the caller may read.' },
  ),
  missing: Type.Array(Type.String(), { description: 'What would have to change for an allow.' }),
})
export type Explained = Static<typeof Explained>

/** Everybody may ask about themselves; about others, actors who may read the roles of the place. */
const asking = ['me.read', 'project.role.read', 'tenant.role.read', 'platform.authz.evaluate'] as const
const problems = ['organization_not_found', 'project_not_found'] as const
const asks = <B extends TProperties, R extends TProperties>(
  id: string,
  path: string,
  summary: string,
  body: ReturnType<typeof Exactly<B>>,
  reply: ReturnType<typeof Exactly<R>>,
) =>
  operation({
    id,
    method: 'POST',
    path: `/api/v1/authz/${path}`,
    summary,
    actors: ['user', 'service_account'],
    action: asking,
    effect: 'read',
    is_decision: true,
    body,
    reply,
    problems,
  })

export const decide = asks(
  'authz.decide',
  'decisions',
  'May somebody do something? About oneself, or about another where one may read roles.',
  Question,
  Answered,
)

export const decideBatch = asks(
  'authz.decide_batch',
  'decisions/batch',
  'Up to 100 questions, answered from one state of the facts, in their order.',
  Exactly({ questions: Type.Array(Question, { minItems: 1, maxItems: 100 }) }),
  Exactly({ ...revision, decisions: Type.Array(Exactly(answered)) }),
)

export const explain = asks(
  'authz.explain',
  'explain',
  'The same decision, with the steps that led to it and what is missing.',
  Question,
  Explained,
)

export const MyPermissions = Exactly({
  org_id: Nullable(Id('org')),
  project_id: Nullable(Id('project')),
  ...revision,
  permissions: Type.Array(ActionKey, { description: 'What is allowed there now, whatever type of resource it is done to.' }),
  conditional: Type.Array(ActionKey, {
    description:
      'What a constraint denies only because nothing is said of region, model, size or flags, or because it is open what type of resource it would be done to. Address and time are those of the asking.',
  }),
})

export const readMyPermissions = operation({
  id: 'me.permissions',
  method: 'GET',
  path: '/api/v1/me/permissions',
  summary: 'What you may do, in a project, in an organization, or on the platform.',
  actors: ['user', 'service_account'],
  action: 'me.read',
  effect: 'read',
  is_decision: true,
  query: { org_id: maybe(Id('org')), project_id: maybe(Id('project')) },
  reply: MyPermissions,
  problems,
})
