import { createPublicKey } from 'node:crypto'
import { keyOfRequest } from '@gatehouse/server/fleet/nodes/signing-request'
import { expect, test } from 'vitest'
import { objectId } from './der.ts'
import { newKey, signingRequest } from './signing-request.ts'

const node_id = '00000000-0000-7000-8000-0000000000aa'

test('SG-22 the control plane finds our key in our request, and believes that we hold it', async () => {
  const key = newKey()
  const found = await keyOfRequest(signingRequest(key, node_id))
  expect(found.export({ type: 'spki', format: 'der' })).toEqual(createPublicKey(key).export({ type: 'spki', format: 'der' }))
})

test('SG-22 a request whose key was changed on its way is not believed', async () => {
  const [one, other] = [newKey(), newKey()].map((key) => createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-64))
  const pem = signingRequest(newKey(), node_id)
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64')
  expect(one).not.toEqual(other)
  const point = der.indexOf(Buffer.from([0x03, 0x42, 0x00, 0x04])) + 4
  one!.copy(der, point)
  const changed = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`
  await expect(keyOfRequest(changed)).rejects.toMatchObject({ code: 'invalid_csr' })
})

test.for([
  ['2.5.4.3', '0603550403'],
  ['1.2.840.10045.4.3.2', '06082a8648ce3d040302'],
])('the object id %s is spelt %s', ([dotted, hex]) => {
  expect(objectId(dotted!).toString('hex')).toBe(hex)
})
