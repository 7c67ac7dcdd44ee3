import type { listSshKeys as ListOwn, listProjectSshKeys as ListProjects } from '@gatehouse/contract/ssh-keys'
import { type Answering, listed } from '#rails/http/answer.ts'
import { authorizeToSeeIn, authorizeToSeeOwn } from './key-owner.ts'
import { keysOfProject, keysOfUser } from './ssh-key-queries.ts'

export const listSshKeys: Answering<typeof ListOwn> = async (work, { slice }) => {
  const { id } = await authorizeToSeeOwn(work)
  return listed(await work.tx.many(keysOfUser(id, slice.after, slice.limit + 1)), slice, (key) => key.id)
}

export const listProjectSshKeys: Answering<typeof ListProjects> = async (work, { params, slice }) => {
  const project = await authorizeToSeeIn(work, params.project_id)
  return listed(await work.tx.many(keysOfProject(project.id, slice.after, slice.limit + 1)), slice, (key) => key.id)
}
