import { afterAll, beforeAll, expect, test } from 'vitest'
import { enrolledNode, nodeKeys } from '../../../test/enrolled-node.ts'
import { type LiveServer, liveServer } from '../../../test/live-server.ts'

let live: LiveServer
beforeAll(async () => {
  live = await liveServer({ logger: { level: 'error' } })
})
afterAll(() => live.stop())

test('SG-22 a node enrols with its token and renews its certificate', async () => {
  const node = await enrolledNode(live)
  const { csr } = await nodeKeys('Ed25519')
  const renewed = await node.call('POST', `/internal/v1/nodes/${node.id}/certificate`, { csr })
  expect(renewed.status).toBe(201)
  node.stop()
})
