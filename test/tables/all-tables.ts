import { access } from './access.ts'
import { invitations } from './invitations.ts'
import { machines } from './machines.ts'
import { nodes } from './nodes.ts'
import { policies } from './policies.ts'
import { roles } from './roles.ts'
import { sharedRuntimes } from './shared-runtimes.ts'
import type { Tables } from './spelled.ts'
import { tenancy } from './tenancy.ts'

const epochs: Tables = {
  names: ['epochs'],
  world: '',
  refused: [
    ['', 'an epoch that counts from nothing', 'epochs_value_check', 'insert into epochs (id, value, stamp) values (:new, 0, :new)'],
  ],
  allowed: [],
}

/** Each world needs those before it. */
export const allTables: readonly Tables[] = [tenancy, roles, machines, policies, invitations, access, nodes, sharedRuntimes, epochs]
