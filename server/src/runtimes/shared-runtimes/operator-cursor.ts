import type { RuntimeRow } from './shared-runtime.ts'

type Counted = Pick<RuntimeRow, 'cursor_version'>

/**
 * Where an operator's list goes on: only among the projects that were attached, and contributing alike, when it began; and not where it
 * was disabled meanwhile, or lost a credential.
 */
export const placeAmong = ({ cursor_version }: Counted, id: string): string => `${cursor_version} ${id}`

/** Undefined: it does not go on from there. */
export const idAfter = ({ cursor_version }: Counted, after: string | null): string | null | undefined => {
  if (after === null) return null
  const [version, id] = after.split(' ')
  return version === String(cursor_version) ? id : undefined
}
