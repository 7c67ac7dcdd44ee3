// `npm run test:watch -- word`: runs the test files whose path contains the word, and again when they or what they import changes.
import { startVitest } from 'vitest/node'
import { neededProjects } from './test/needed-projects.ts'
import { onParting } from './world/parting.ts'

const words = process.argv.slice(2).filter((argument) => argument !== '--')

const refuse = (sentence: string): never => {
  console.error(`\n${sentence}\n`)
  process.exit(1)
}

if (words.length === 0) refuse('Name the test files to watch by a word of their path: npm run test:watch -- tenancy')
const projects = neededProjects(words) ?? refuse(`No test file has ${words.map((word) => `"${word}"`).join(' or ')} in its path.`)

// In a terminal Vitest itself reads Ctrl-C from the keyboard, closes and ends with 130. To stop watching is no failure.
process.on('exit', (code) => {
  if (code === 130) process.exitCode = 0
})
const vitest = await startVitest('test', words, {
  watch: true,
  project: projects,
  forceRerunTriggers: ['**/package.json/**', '**/vitest.config.*/**', '**/db/**/*.sql'],
})
// Its own answer to a signal is to exit at once, which leaves the data folder of PostgreSQL behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal)
onParting({
  onFirst: () => void vitest.close().finally(() => process.exit(0)),
  onSecond: () => process.exit(1),
})
