import { newKeyLine } from '../../ssh-key-lines.ts'
import { inProject, newProject } from './places.ts'
import { type Asking, part, type Recipes, type Stage } from './recipe.ts'

export const aLine = (stage: Stage) => ({ name: stage.word(), public_key: newKeyLine(), reason: stage.word() })
const registered = (owner: string, id: unknown, name: unknown) => [
  part('key', `ssh_public_keys where ${owner} = $1 and name = $2 and deleted_at is null`, id, name),
]
const endedKey = ({ params, body }: Asking) => [
  part('end', 'ssh_public_keys where id = $1 and deleted_at is not null and delete_reason = $2', params.ssh_key_id, body.reason),
]

export const sshKeys: Recipes = {
  'ssh_key.create': {
    lock: 'platform chain',
    prepare: async (stage) => ({ person: stage.person().subject, params: {}, body: aLine(stage) }),
    effect: ({ person, body }) => [
      part('key', 'ssh_public_keys k join users u on u.id = k.user_id where u.oidc_subject = $1 and k.name = $2', person, body.name),
    ],
  },
  'ssh_key.delete': {
    lock: 'platform chain',
    prepare: async (stage) => {
      const { subject } = stage.person()
      const { id } = await stage.done('ssh_key.create', { person: subject, params: {}, body: aLine(stage) })
      return { person: subject, params: { ssh_key_id: id }, body: { reason: stage.word() } }
    },
    effect: endedKey,
  },
  'project.ssh_key.create': {
    prepare: async (stage) => ({ ...inProject((await newProject(stage)).id), body: aLine(stage) }),
    effect: ({ params, body }) => registered('project_id', params.project_id, body.name),
  },
  'project.ssh_key.delete': {
    prepare: async (stage) => {
      const there = inProject((await newProject(stage)).id)
      const { id } = await stage.done('project.ssh_key.create', { ...there, body: aLine(stage) })
      return { ...there, params: { ...there.params, ssh_key_id: id }, body: { reason: stage.word() } }
    },
    effect: endedKey,
  },
}
