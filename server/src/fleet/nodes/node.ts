import { type Kind, nowhere, platformKind } from '#rails/authz/kind.ts'

/** A machine of the platform's; it lies in no tenant. */
export const nodeKind: Kind<{ readonly id: string }> = {
  type: 'node',
  missing: 'node_not_found',
  placeOf: ({ id }) => ({ ...nowhere, id }),
}

/** All of them: the platform's, and to rules what each of them is. */
export const nodesKind = { ...platformKind, type: nodeKind.type }
