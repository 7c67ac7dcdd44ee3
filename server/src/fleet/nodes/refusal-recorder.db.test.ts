import { expect, test } from 'vitest'
import { serverFixture } from '../../../../test/live-server.ts'
import { refusalRecorder } from './refusal-recorder.ts'

const live = serverFixture()

test('HO-10 node.enrol refused from many addresses of one IPv6 /64 → 60 rows a minute in all; another network has its own', async () => {
  const { database, append } = await live.replica()
  const refuse = refusalRecorder(database, append)
  const from = (source_ip: string) =>
    refuse({
      action: 'node.enrol',
      node_id: null,
      credential_id: null,
      reason_code: 'token_invalid',
      correlation_id: 'many-addresses',
      source_ip,
      metadata: {},
    })
  for (let host = 1; host <= 70; host += 1) await from(`2001:db8::${host.toString(16)}`)
  await from('2001:db8:0:1::1')
  expect(await live.auditOf('many-addresses')).toHaveLength(61)
})
