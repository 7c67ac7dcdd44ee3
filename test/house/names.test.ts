import { basename } from 'node:path'
import { expect, test } from 'vitest'
import { sourceFolders } from '../../tools/test/source-folders.ts'
import { filesUnder } from './tree.ts'

const serverFiles = filesUnder('server/src')

test('a file name says which file of the server it is', () => {
  const names = serverFiles.map((path) => basename(path)).filter((name) => name !== 'README.md' && name !== 'room.ts')
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

// Each of these means that the noun was not found.
const emptyWords =
  /^(?:managers?|helpers?|utils?|utilities|commons?|misc|services?|handlers?|processors?|data|infos?|base|impl|types?|interfaces?)$/
// Two nouns of the domain hold one of these words.
const nouns = ['service-account', 'resource-type', 'actor-type']

test('no file or folder is named after what it is not', () => {
  const paths = sourceFolders.flatMap(filesUnder)
  const words = (path: string) =>
    nouns
      .reduce((text, noun) => text.replaceAll(noun, ''), path)
      .replace(/\.\w+$/, '')
      .split(/[/.-]/)
  expect(paths.filter((path) => words(path).some((word) => emptyWords.test(word)))).toEqual([])
})
