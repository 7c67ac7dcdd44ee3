import type { Organization } from '@gatehouse/contract/organizations'
import { Project } from '@gatehouse/contract/projects'
import { columns, sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

export const findProject = (project_id: string) => sql(Project)`
  select ${columns(Project, 'p')}
    from projects p join organizations o on o.id = p.org_id and o.deleted_at is null
   where p.id = ${project_id}`

/** Locked together with its organization: who belongs to a project depends on who belongs to its organization. */
export const lockProject = (project_id: string) => sql(Project)`
  select ${columns(Project, 'p')}
    from projects p join organizations o on o.id = p.org_id and o.deleted_at is null
   where p.id = ${project_id}
     for no key update`

export const projectsIn = (org_id: string, after: string | null, limit: number) => sql(Project)`
  select ${columns(Project)} from projects
   where org_id = ${org_id} and (${after}::uuid is null or id > ${after}::uuid)
   order by id limit ${limit}`

export const ownProjectsIn = (org_id: string, user_id: string, after: string | null, limit: number) => sql(Project)`
  select ${columns(Project, 'p')}
    from projects p join project_memberships m on m.project_id = p.id and m.user_id = ${user_id} and m.deleted_at is null
   where p.org_id = ${org_id} and (${after}::uuid is null or p.id > ${after}::uuid)
   order by p.id limit ${limit}`

export const insertProject = (
  organization: Authorized<'tenant.project.create', Pick<Organization, 'id'>>,
  { id, name, slug }: Pick<Project, 'id' | 'name' | 'slug'>,
  created_by: string | null,
  now: string,
) => sql(Project)`
  insert into projects (id, org_id, name, slug, created_at, created_by)
  values (${id}, ${organization.id}, ${name}, ${slug}, ${now}, ${created_by})
  returning ${columns(Project)}`

export const renameProject = (project: Authorized<'tenant.project.update', Project>, name: string) => sql(Project)`
  update projects set name = ${name} where id = ${project.id} returning ${columns(Project)}`

export const setProjectState = (project: Authorized<'tenant.project.update', Project>, state: string) => sql(Project)`
  update projects set state = ${state} where id = ${project.id} returning ${columns(Project)}`
