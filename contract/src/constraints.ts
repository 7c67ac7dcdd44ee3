import Type, { type Static, type TProperties } from 'typebox'
import { Condition } from './conditions.ts'
import { listOperation, operation } from './operation.ts'
import { ofOrganization, ofPlatform, ofProject, type PolicyScopeDeclared, PolicyScopeType } from './policies.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason, Text } from './shapes.ts'

const State = Type.Unsafe<'active' | 'disabled'>(
  Type.String({
    enum: ['active', 'disabled'],
    description: 'A disabled one denies nothing; where a wider one of the same key is not locked, it is an exemption from that.',
  }),
)
const Actions = Type.Array(Type.String({ minLength: 1, maxLength: 100, pattern: '^[a-z][a-z_]*(?:\\.[a-z][a-z_]*)*(?:\\.\\*)?$' }), {
  minItems: 1,
  maxItems: 200,
  description: 'Keys of actions, or one group: `allocation.*` is every key that begins so.',
})
const IsLocked = Type.Boolean({ description: 'A narrower constraint of the same key does not replace it.' })
const TimeZone = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*$',
  description: 'An IANA name. In this zone the minutes and weekdays of the condition are meant.',
})
const Description = Text(500, 'What it is for.')
const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

export const Constraint = Named('Constraint', {
  id: Id('constraint'),
  version: Version,
  key: Type.String({ description: 'Of one key, one constraint counts: the most specific, or the widest that is locked.' }),
  scope_type: PolicyScopeType,
  tenant_id: Nullable(Id('org')),
  project_id: Nullable(Id('project')),
  description: Nullable(Type.String()),
  actions: Type.Array(Type.String()),
  effect: OneOf(['deny']),
  // Its shape is that of the body; once is enough for a document that many operations answer with.
  condition: Type.Unsafe<Condition>(Type.Unknown({ description: 'As it was written.' })),
  time_zone: Type.String(),
  is_locked: Type.Boolean(),
  state: State,
  created_at: Instant,
  created_by: Nullable(Id('user')),
  reason: Nullable(Type.String()),
})
export type Constraint = Static<typeof Constraint>

export const ConstraintVersion = Named('ConstraintVersion', {
  ...Constraint.properties,
  replaced_at: Nullable(Instant),
  replaced_by: Nullable(Id('user')),
  delete_reason: Nullable(Type.String({ description: 'Where no version follows: why not.' })),
})

const ConstraintDraft = Named('ConstraintDraft', {
  key: Type.String({
    minLength: 1,
    maxLength: 100,
    pattern: '^[a-z][a-z0-9_.-]*$',
    description: 'Its name, by which wider and narrower scopes speak of the same rule.',
  }),
  description: Type.Optional(Description),
  actions: Actions,
  condition: Condition,
  time_zone: Type.Optional(TimeZone),
  is_locked: Type.Optional(IsLocked),
  state: Type.Optional(State),
  reason: Type.Optional(Reason),
})

const ConstraintChange = Exactly({
  description: Type.Optional(Nullable(Description)),
  actions: Type.Optional(Actions),
  condition: Type.Optional(Condition),
  time_zone: Type.Optional(TimeZone),
  is_locked: Type.Optional(IsLocked),
  state: Type.Optional(State),
  expected_version: Version,
  reason: Reason,
})

const refusal =
  'Refused with the fields named: actions that do not exist or cannot be constrained there, attributes that one of the actions does not carry, ranges and zones that are none.'

const constraintsOf = <P extends TProperties, const R extends string, const W extends string>(at: PolicyScopeDeclared<P, R, W>) => {
  const byId = { ...at.params, constraint_id: Id('constraint') }
  const path = `${at.path}/constraints`
  const missing = [...at.missing, 'constraint_not_found'] as const
  return {
    list: listOperation({
      id: `policy.constraint.list_${at.name}`,
      path,
      summary: `The constraints that ${at.whose} has written.`,
      actors: at.readers,
      action: at.read,
      params: at.params,
      item: Constraint,
      problems: at.missing,
    }),
    create: operation({
      id: `policy.constraint.create_${at.name}`,
      recorded_as: 'policy.constraint.create',
      method: 'POST',
      path,
      summary: `Write a constraint of ${at.whose}: what its roles give is denied where the condition holds.`,
      description: refusal,
      actors: ['user'],
      action: at.write,
      effect: 'change',
      params: at.params,
      body: ConstraintDraft,
      reply: Constraint,
      success: 201,
      problems: [...at.missing, 'constraint_already_exists', 'state_conflict'],
    }),
    read: operation({
      id: `policy.constraint.read_${at.name}`,
      method: 'GET',
      path: `${path}/:constraint_id`,
      summary: `One constraint of ${at.whose}.`,
      actors: at.readers,
      action: at.read,
      effect: 'read',
      params: byId,
      reply: Constraint,
      problems: missing,
    }),
    versions: listOperation({
      id: `policy.constraint.list_versions_${at.name}`,
      path: `${path}/:constraint_id/versions`,
      summary: `Every version of one constraint of ${at.whose}, newest first, also when it has ended.`,
      actors: at.readers,
      action: at.read,
      params: byId,
      item: ConstraintVersion,
      problems: missing,
    }),
    update: operation({
      id: `policy.constraint.update_${at.name}`,
      recorded_as: 'policy.constraint.update',
      method: 'PATCH',
      path: `${path}/:constraint_id`,
      summary: `Write a new version of a constraint of ${at.whose}; what is not said stays.`,
      description: refusal,
      actors: ['user'],
      action: at.write,
      effect: 'change',
      params: byId,
      body: ConstraintChange,
      reply: Constraint,
      problems: [...missing, 'version_conflict'],
    }),
    end: operation({
      id: `policy.constraint.delete_${at.name}`,
      recorded_as: 'policy.constraint.delete',
      method: 'DELETE',
      path: `${path}/:constraint_id`,
      summary: `End a constraint of ${at.whose}. Its versions stay readable.`,
      actors: ['user'],
      action: at.write,
      effect: 'change',
      params: byId,
      body: Exactly({ reason: Reason }),
      problems: missing,
    }),
  }
}

export const {
  list: listPlatformConstraints,
  create: createPlatformConstraint,
  read: readPlatformConstraint,
  versions: listPlatformConstraintVersions,
  update: updatePlatformConstraint,
  end: deletePlatformConstraint,
} = constraintsOf(ofPlatform)
export const {
  list: listOrganizationConstraints,
  create: createOrganizationConstraint,
  read: readOrganizationConstraint,
  versions: listOrganizationConstraintVersions,
  update: updateOrganizationConstraint,
  end: deleteOrganizationConstraint,
} = constraintsOf(ofOrganization)
export const {
  list: listProjectConstraints,
  create: createProjectConstraint,
  read: readProjectConstraint,
  versions: listProjectConstraintVersions,
  update: updateProjectConstraint,
  end: deleteProjectConstraint,
} = constraintsOf(ofProject)
