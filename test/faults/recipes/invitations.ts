import { inOrganization, inProject, newOrganization, newProject } from './places.ts'
import { type Asking, part, type Recipes, type Stage } from './recipe.ts'

const offering = (stage: Stage, role_name: string) => ({ email: `${stage.word()}@mail.example`, role_name, reason: stage.word() })
/** An invitation that waits, by the owner of all that the stage has made. */
const offered = async (stage: Stage, operation: string, asking: Asking): Promise<string> =>
  ((await stage.done(operation, asking)) as unknown as { invitation: { id: string } }).invitation.id
const isOffered = ({ body }: Asking) => [part('invitation', 'invitations where email = $1 and ended_at is null', body.email)]
const isEnded = ({ params, body }: Asking) => [
  part('ended', 'invitations where id = $1 and end_reason = $2', params.invitation_id, body.reason),
]

export const invitations: Recipes = {
  'invitation.create_of_organization': {
    prepare: async (stage) => ({ ...inOrganization((await newOrganization(stage)).id, 'alice'), body: offering(stage, 'tenant_viewer') }),
    effect: isOffered,
    actions: ['invitation.create'],
  },
  'invitation.create_of_project': {
    prepare: async (stage) => ({ ...inProject((await newProject(stage)).id), body: offering(stage, 'project_viewer') }),
    effect: isOffered,
    actions: ['invitation.create'],
  },
  'invitation.end_of_organization': {
    prepare: async (stage) => {
      const there = inOrganization((await newOrganization(stage)).id, 'alice')
      const asking = { ...there, body: offering(stage, 'tenant_viewer') }
      const invitation_id = await offered(stage, 'invitation.create_of_organization', asking)
      return { ...there, params: { ...there.params, invitation_id }, body: { reason: stage.word() } }
    },
    effect: isEnded,
    actions: ['invitation.end'],
  },
  'invitation.end_of_project': {
    prepare: async (stage) => {
      const there = inProject((await newProject(stage)).id)
      const asking = { ...there, body: offering(stage, 'project_viewer') }
      const invitation_id = await offered(stage, 'invitation.create_of_project', asking)
      return { ...there, params: { ...there.params, invitation_id }, body: { reason: stage.word() } }
    },
    effect: isEnded,
    actions: ['invitation.end'],
  },
  'invitation.accept': {
    prepare: async (stage) => {
      const { subject } = stage.person()
      const there = inProject((await newProject(stage)).id)
      const body = { email: `${subject}@stock.example`, role_name: 'project_viewer', reason: stage.word() }
      const invitation_id = await offered(stage, 'invitation.create_of_project', { ...there, body })
      return { person: subject, params: {}, body: { invitation_id } }
    },
    effect: ({ body: { invitation_id } }) => {
      const who = 'join invitations i on i.id = $1'
      return [
        part('accepted', 'invitations where id = $1 and accepted_at is not null', invitation_id),
        part(
          'in the organization',
          `tenant_memberships m ${who} and i.accepted_by = m.user_id and i.tenant_id = m.tenant_id`,
          invitation_id,
        ),
        part('in the project', `project_memberships m ${who} and i.accepted_by = m.user_id and i.project_id = m.project_id`, invitation_id),
        part('binding', `project_role_bindings b ${who} and i.accepted_by = b.principal_id and i.project_id = b.project_id`, invitation_id),
      ]
    },
  },
}
