import { mutants as ofCeilings } from '../climb/mutants.ts'
import { mutants as ofDecisions } from '../differential/mutants.ts'

/** A fault that a test of `npm run test:all` alone is there to find. */
export interface Fault {
  readonly name: string
  /** The test that moved. */
  readonly moved: string
  readonly changes: readonly { readonly file: string; readonly find: string; readonly replace: string }[]
}

const ofClimbs: readonly Fault[] = Object.entries(ofCeilings).map(([name, change]) => ({
  name,
  moved: 'test/climb/red.all.db.test.ts',
  changes: [change],
}))

const ofWorlds: readonly Fault[] = ofDecisions.map(({ name, ...change }) => ({
  name,
  moved: 'test/differential/mutants.all.db.test.ts',
  changes: [change],
}))

export const faults: readonly Fault[] = [...ofClimbs, ...ofWorlds]

const roomOf = ({ changes }: Fault): string => changes[0]!.file.split('/').slice(0, 3).join('/')

/** Tests of `npm test` that might go red for it, the nearest and cheapest first. Each is a list of words for one run. */
export const candidatesFor = (fault: Fault): readonly (readonly string[])[] => {
  const room = roomOf(fault)
  return [
    ['--project', 'unit', `${room}/`],
    ['--project', 'db', `${room}/`],
    ['--project', 'db', 'server/src/people/roles/', 'server/src/people/invitations/', 'server/src/machines/service-accounts/'],
    [
      '--project',
      'db',
      'server/src/desk/decisions/',
      'server/src/people/tenancy/',
      'server/src/people/principals/',
      'server/src/runtimes/shared-runtimes/',
    ],
    ['--project', 'db', 'test/differential/differential.sweep', 'test/climb/climb.sweep'],
  ]
}
