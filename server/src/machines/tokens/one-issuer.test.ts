import { expect, test } from 'vitest'
import { filesUnder, isTest, textOf } from '../../../../test/house/tree.ts'

const product = ['contract/src', 'server/src']
  .flatMap(filesUnder)
  .filter((path) => path.endsWith('.ts') && !isTest(path) && !path.includes('/testing/'))
const holding = (pattern: RegExp, files: ReadonlyMap<string, string>) =>
  [...files].flatMap(([path, text]) => (pattern.test(text) ? [path] : [])).sort()
const texts = new Map(product.map((path) => [path, textOf(path)]))

/** Whatever makes a signature out of a private key: Node's own, and those of the library that reads tokens. */
const makesSignatures =
  /\b(?:createSign|SignJWT|CompactSign|FlattenedSign|GeneralSign)\b|import\s*\{[^}]*[{,\s]sign[\s,}][^}]*\}\s*from 'node:crypto'|crypto\.sign\(/
const makesTokens = /\bsignedToken\(/

test('TI-01 nothing signs but the signer of tokens, that of checkpoints and that of tasks for nodes', () => {
  expect(holding(makesSignatures, texts)).toEqual([
    'server/src/fleet/task-signers/task-signing.ts',
    'server/src/ground/installation/checkpoint.ts',
    'server/src/machines/keys/signer.ts',
  ])
})

test('TI-01 a token is made in one place, and one place asks for it', () => {
  expect(holding(makesTokens, texts)).toEqual(['server/src/machines/tokens/issue-token.ts'])
  expect(holding(/\bsign\(key, Buffer\.from\(/, texts)).toEqual(['server/src/machines/tokens/claims.ts'])
})

test('TI-01 the search finds a second one', () => {
  for (const text of [
    `import { sign } from 'node:crypto'`,
    `import { createHash, sign, verify } from 'node:crypto'`,
    `import { createSign } from 'node:crypto'`,
    `new SignJWT({}).sign(key)`,
  ])
    expect(holding(makesSignatures, new Map([['other.ts', text]])), text).toEqual(['other.ts'])
  expect(holding(makesSignatures, new Map([['other.ts', `import { welcome } from './first-sign-in.ts'`]]))).toEqual([])
})

// T14: the work is the same by the way it is written, which a clock could only guess.
test('TI-11 the secret is compared before anybody is refused, whether or not there is such an account or key', () => {
  const source = textOf('server/src/machines/tokens/credential-gate.ts')
  const isConstantWork = (text: string) => {
    const lines = /const opened = async [\s\S]*?=> \{\n([\s\S]*?)\n {2}\}/.exec(text)![1]!.split('\n')
    const compared = lines.findIndex((line) => line.includes('= await prove('))
    return compared >= 0 && !lines.slice(0, compared).some((line) => /\b(?:return|throw|if)\b|refuse\(/.test(line))
  }
  expect(isConstantWork(source)).toBe(true)
  // The control: an early answer for an account that is not there.
  const early = source.replace(/(const read = await readOf[^\n]*\n)/, `$1    if (!read.credential) throw new Problem('token_invalid')\n`)
  expect(early).not.toBe(source)
  expect(isConstantWork(early)).toBe(false)
})
