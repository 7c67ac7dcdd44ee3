import { Problem } from '../kernel/problem.ts'
import type { RuntimeRow } from './shared-runtime.ts'

type Counted = Pick<RuntimeRow, 'attachments_version'>

/** Where an operator's list goes on: only among the projects that were attached, and contributing alike, when it began. */
export const placeAmong = ({ attachments_version }: Counted, id: string): string => `${attachments_version} ${id}`

export const idAfter = ({ attachments_version }: Counted, after: string | null): string | null => {
  if (after === null) return null
  const [version, id] = after.split(' ')
  if (version !== String(attachments_version) || id === undefined) throw new Problem('cursor_invalid')
  return id
}
