import * as members from '@gatehouse/contract/members'
import { answer } from '../http/answer.ts'
import { addProjectMember } from './add-project-member.ts'

export const roleRoutes = [answer(members.addProjectMember, addProjectMember)]
