import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Package {
  readonly name: string
  readonly dependencies?: Record<string, string>
  readonly devDependencies?: Record<string, string>
  readonly optionalDependencies?: Record<string, string>
}
const packages = ['.', 'contract', 'server', 'agent', 'idp'].map(
  (folder) => JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as Package,
)
const wanted = packages.flatMap(({ dependencies, devDependencies, optionalDependencies }) =>
  Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }),
)
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { version?: string }> }

/** How ADR 15 may call a package. */
const spellings = (name: string): string[] => [
  name,
  ...(name === 'fastify' ? ['Fastify'] : []),
  ...(name === 'typebox' ? ['TypeBox'] : []),
  ...(name === 'ajv' ? ['Ajv'] : []),
  ...(name.startsWith('@opentelemetry/') ? ['OpenTelemetry'] : []),
  ...(name.endsWith('-arm64') ? ['-arm64'] : []),
]

test('every library that a package names is in ADR 15, with its reason', () => {
  const text = readFileSync('docs/adr/0015-libraries.md', 'utf8')
  const names = [...new Set(wanted.map(([name]) => name))].filter((name) => !name.startsWith('@gatehouse/'))
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !spellings(name).some((spelling) => text.includes(spelling)))).toEqual([])
})

test('versions are exact, and of jose there is one', () => {
  expect(wanted.filter(([, version]) => !/^(?:npm:typescript@)?\d+\.\d+\.\d+(?:-[a-z0-9.]+)?$/.test(version))).toEqual([])
  const joses = Object.entries(lock.packages).filter(([path]) => /(?:^|\/)node_modules\/jose$/.test(path))
  expect(joses.map(([, { version }]) => version)).toHaveLength(1)
})
