import { defineConfig, type Plugin } from 'vitest/config'
import type { Reporter, Vitest } from 'vitest/node'

// The campaign says, piece by piece, which tests run and whether they need a database.
const { MUTATION_TESTS = '', MUTATION_DATABASE } = process.env

const spacesOrArrows = (pattern: RegExp) => new RegExp(pattern.source.replaceAll(' ', '(?: > | )'))

/** Stryker picks tests by the names of their groups and their own with blanks between them; Vitest 5 joins them by arrows. */
const pickedByName: Plugin = {
  name: 'picked-by-name',
  configureVitest({ project }) {
    let picked: RegExp | undefined
    Object.defineProperty(project.config, 'testNamePattern', {
      enumerable: true,
      get: () => picked,
      set: (pattern: RegExp | undefined) => {
        picked = pattern && spacesOrArrows(pattern)
      },
    })
  },
}

/** A test file that cannot even be loaded has no test that could fail; Stryker would take that for a pass. */
const toldOfBrokenFiles = (): Reporter => {
  let vitest: Vitest
  return {
    onInit: (started) => {
      vitest = started
    },
    onTestModuleEnd: (file) => {
      for (const error of file.errors()) vitest.state.catchError(error, 'Unhandled Error')
    },
  }
}

export default defineConfig({
  plugins: [pickedByName],
  test: {
    include: MUTATION_TESTS.split(','),
    globalSetup: MUTATION_DATABASE === 'yes' ? ['test/start-postgres.ts'] : [],
    reporters: [toldOfBrokenFiles()],
    testTimeout: 20_000,
    hookTimeout: 60_000,
  },
})
