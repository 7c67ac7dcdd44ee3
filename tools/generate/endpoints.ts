import type { Operation } from '@gatehouse/contract/operation'
import { operations } from '@gatehouse/contract/operations'
import type { Document } from './document.ts'

const byPath = (a: Operation, b: Operation) => (a.path === b.path ? (a.method < b.method ? -1 : 1) : a.path < b.path ? -1 : 1)

/** Who may knock at which door, one line each and not padded: a door that opens wider is one changed line. */
const make = async (): Promise<string> =>
  [...operations]
    .sort(byPath)
    .map(({ method, path, id, actors, actions, effect }) =>
      [method, path, id, `actors=${[...actors].sort().join(',')}`, `actions=${actions.join(',')}`, `effect=${effect}\n`].join(' '),
    )
    .join('')

export const endpointsDocument: Document = { path: 'docs/generated/endpoints.txt', make }
