import { type Kind, nowhere } from '../authz/kind.ts'

/** A machine of the platform's; it lies in no tenant. */
export const nodeKind: Kind<{ readonly id: string }> = {
  type: 'node',
  missing: 'node_not_found',
  placeOf: ({ id }) => ({ ...nowhere, id }),
}
