import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** A folder that all tests of a file, or of a `describe`, share; it is removed after the last of them. */
export const temporaryFolder = (name: string): string => {
  const folder = mkdtempSync(join(tmpdir(), `gatehouse-${name}-`))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
