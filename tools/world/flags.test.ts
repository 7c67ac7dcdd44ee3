import { expect, test } from 'vitest'
import { help, readFlags } from './flags.ts'

test('HO-01 npm start: flags → inspector port, watch, help', () => {
  expect(readFlags([])).toEqual({ help: false, watch: false, inspectPort: undefined })
  expect(readFlags(['--inspect'])).toMatchObject({ inspectPort: 9229 })
  expect(readFlags(['--inspect=9333', '--watch'])).toEqual({ help: false, watch: true, inspectPort: 9333 })
  expect(readFlags(['--help'])).toMatchObject({ help: true })
})

test.for(['--inspekt', '--inspect-brk', 'inspect', '--watch=yes'])('HO-01 npm start: unknown flag %s → refused by name', (flag) => {
  expect(() => readFlags([flag])).toThrow(`npm start has no flag ${flag}. It knows --inspect[=port], --watch and --help.`)
})

test.for(['', '0', '65536', '0.0.0.0:9229', '9229x'])(
  'HO-01 npm start: --inspect=%s → refused, the inspector stays on 127.0.0.1',
  (port) => {
    expect(() => readFlags([`--inspect=${port}`])).toThrow(`--inspect=${port} names no port (1 to 65535).`)
  },
)

test('HO-01 npm start -- --help: lists every flag', () => {
  for (const flag of ['--inspect[=port]', '--watch', '--help']) expect(help).toContain(flag)
})
