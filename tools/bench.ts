// `npm run bench -- NAME`: figures beside each other in one run; never a test, because clocks differ.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../test/bench')
const [name = ''] = process.argv.slice(2)
const file = join(folder, `${name}.ts`)
if (/^[a-z-]+$/.test(name) && existsSync(file)) await import(file)
else {
  console.error(
    `Say which: npm run bench -- ${readdirSync(folder)
      .flatMap((each) => (each.endsWith('.ts') ? [each.replace('.ts', '')] : []))
      .join(' | ')}`,
  )
  process.exitCode = 1
}
