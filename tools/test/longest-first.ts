import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * What takes longest begins first: begun last, it would be waited for alone. Vitest knows durations only from its second run on, and a
 * fresh checkout takes the size of a file for its duration.
 */
const isLong = ({ moduleId }: TestSpecification): boolean =>
  /\.(?:sweep|all)\.|\/(?:ssh-[a-z]+|operate|start|external-database|canaries|controller|develop)\.e2e\.test\.ts$/.test(moduleId)

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}
