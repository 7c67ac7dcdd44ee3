import { expect, test } from 'vitest'
import { neededProjects } from './needed-projects.ts'

const files = ['server/src/ground/kernel/ids.test.ts', 'server/src/people/tenancy/members.db.test.ts', 'test/e2e/start.e2e.test.ts']

test.for([
  [['kernel/ids'], ['!db*', '!e2e*']],
  [['members'], ['!unit*', '!e2e*']],
  [['./server/src/ground/kernel/ids.test.ts'], ['!db*', '!e2e*']],
  [['start.e2e', 'IDS'], ['!db*']],
  [['test.ts'], []],
  [['no-such-file'], undefined],
  // A title that happens to match a file only keeps a project in.
  [['kernel/ids', '-t', 'members'], ['!e2e*']],
] as const)('HO-02 npm test -- words: %j → vitest gets %j', ([words, args]) => {
  expect(neededProjects(words, files)).toEqual(args)
})

test('HO-02 npm test -- words: the files on disk → each kind is found, packages are not searched', () => {
  expect(neededProjects(['tools/test/needed-projects'])).toEqual(['!db*', '!e2e*'])
  expect(neededProjects(['house/clone'])).toEqual(['!unit*', '!e2e*'])
  expect(neededProjects(['e2e/develop'])).toEqual(['!unit*', '!db*'])
  expect(neededProjects(['node_modules'])).toBeUndefined()
})
