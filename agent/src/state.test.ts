import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeAtomically } from './atomic-file.ts'
import type { IdentityFile } from './identity.ts'
import { type AllocationState, openState } from './state.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-state-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const allocation: AllocationState = {
  allocation_id: '00000000-0000-7000-8000-0000000000bb',
  username: 'gh-abcdef',
  begun: 2,
  applied: null,
  drift_found_at: null,
}
const identity = (name: string) => ({ node_id: name }) as IdentityFile

test('SG-10 what was kept is found by the next run, and nobody else may read it', async () => {
  await (await openState(join(folder, 'state'))).keepAllocation(allocation)
  expect(await (await openState(join(folder, 'state'))).allocations()).toEqual([allocation])
  const path = join(folder, 'state', 'allocations')
  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(statSync(join(path, readdirSync(path)[0]!)).mode & 0o777).toBe(0o600)
})

test('SG-10 what a crash left half written is taken away, and is nobody’s state', async () => {
  const state = await openState(join(folder, 'state'))
  await state.keepAllocation(allocation)
  writeFileSync(join(folder, 'state', 'allocations', `${allocation.allocation_id}.json.0123456789abcdef.part`), '{"begun":')
  expect(await (await openState(join(folder, 'state'))).allocations()).toEqual([allocation])
  expect(readdirSync(join(folder, 'state', 'allocations'))).toEqual([`${allocation.allocation_id}.json`])
})

test('a file that is broken stops the agent with its name, rather than being taken for none', async () => {
  const state = await openState(join(folder, 'state'))
  writeFileSync(join(folder, 'state', 'allocations', `${allocation.allocation_id}.json`), '{"begun":')
  await expect(state.allocations()).rejects.toThrow(/bb\.json is broken/)
})

test('a folder that others may enter is refused', async () => {
  chmodSync(folder, 0o755)
  await expect(openState(folder)).rejects.toThrow('open to others')
})

test('a link in place of the folder is refused', async () => {
  symlinkSync(tmpdir(), join(folder, 'state'))
  await expect(openState(join(folder, 'state'))).rejects.toThrow('is not a folder')
})

test('an id that is a path never becomes one', async () => {
  const state = await openState(join(folder, 'state'))
  expect(() => state.keepAllocation({ ...allocation, allocation_id: '../../../../etc/passwd-000000000000000' })).toThrow('not an id')
})

test('a file that was there is replaced as a whole, and a link is replaced, not followed', async () => {
  writeFileSync(join(folder, 'theirs'), 'theirs')
  symlinkSync(join(folder, 'theirs'), join(folder, 'ours'))
  await writeAtomically(join(folder, 'ours'), 'ours')
  expect([readFileSync(join(folder, 'theirs'), 'utf8'), readFileSync(join(folder, 'ours'), 'utf8')]).toEqual(['theirs', 'ours'])
  expect(readdirSync(folder).sort()).toEqual(['ours', 'theirs'])
})

test('SG-22 the next identity takes the place of the current one in one step', async () => {
  const state = await openState(join(folder, 'state'))
  await state.keepIdentity('current', identity('first'))
  await state.keepIdentity('next', identity('second'))
  expect(await state.identity('current')).toEqual(identity('first'))
  await state.switchIdentity()
  expect([await state.identity('current'), await state.identity('next')]).toEqual([identity('second'), undefined])
})
