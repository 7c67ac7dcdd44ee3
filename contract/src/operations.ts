import * as auditLogs from './audit-logs.ts'
import * as members from './members.ts'
import type { Operation } from './operation.ts'
import * as organizations from './organizations.ts'
import * as projects from './projects.ts'
import * as users from './users.ts'

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'actors' in value && 'path' in value

/** Every operation there is, in the order of their ids. */
export const operations: readonly Operation[] = [auditLogs, users, organizations, projects, members]
  .flatMap((file) => Object.values(file).filter(isOperation))
  .sort((a, b) => (a.id < b.id ? -1 : 1))
