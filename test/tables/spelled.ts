import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { roleIdOf, roleVersionIdOf } from '../../server/src/rails/authz/catalogue.ts'

const id = (name: string) => fixedId('thing', name)
const nowhere = id('nowhere')
const names = {
  ...{
    ada: id('ada'),
    bob: id('bob'),
    aurora: id('aurora'),
    borealis: id('borealis'),
    training: id('training'),
    inference: id('inference'),
  },
  ...{
    auditor: id('auditor'),
    auditor_1: id('auditor_1'),
    auditor_2: id('auditor_2'),
    stranger: id('stranger'),
    stranger_1: id('stranger_1'),
  },
  ...{
    builder: id('builder'),
    builder_1: id('builder_1'),
    robot: id('robot'),
    robot_1: id('robot_1'),
    sa: id('sa'),
    nowhere,
    allocation: id('allocation'),
    machine: id('machine'),
    host: id('host'),
    rule: id('rule'),
    offer: id('offer'),
    runtime: id('runtime'),
    runtime_2: id('runtime_2'),
  },
  ...{ superadmin: roleIdOf('platform_superadmin'), tenant_owner: roleIdOf('tenant_owner') },
  ...{ v_superadmin: roleVersionIdOf('platform_superadmin'), v_tenant_owner: roleVersionIdOf('tenant_owner') },
  ...{ v_project_owner: roleVersionIdOf('project_owner'), v_project_viewer: roleVersionIdOf('project_viewer') },
}
/** `:name` is the id of that thing, `:new` a fresh one. */
export const spelled = (text: string) =>
  text.replaceAll(/:([a-z]\w*)/g, (_, name: string) =>
    name === 'new' ? 'gen_random_uuid()' : `'${names[name as keyof typeof names] ?? `no such name: ${name}`}'`,
  )

export const inserting = (table: string, values: Record<string, string>) =>
  `insert into ${table} (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`

/** Tables that belong together: what they refuse and what they allow, beside the rows of one small world. */
export interface Tables {
  readonly names: readonly string[]
  readonly world: string
  readonly refused: readonly [proves: string, what: string, constraint: string, text: string][]
  readonly allowed: readonly [what: string, text: string][]
}
