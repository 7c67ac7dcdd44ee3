import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They take minutes. Begun last, each would be waited for alone. */
const long = [
  ...['differential/differential.db', 'http/hostile-input.db', 'climb/red.db', 'differential/mutants.db'],
  ...['access.e2e', 'database-faults.e2e', 'kills.e2e', 'replicas.e2e', 'external-database.e2e', 'ssh-drift.e2e', 'start.e2e'],
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = long.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
  return place < 0 ? long.length : place
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => placeOf(one) - placeOf(other))
  }
}
