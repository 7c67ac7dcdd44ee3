import { createHash } from 'node:crypto'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import type { RightfulCall } from './rightful-call.ts'

/** A node that has enrolled and can be asked for a sign of life. */
const askedNode = fixedId('node', 'sweep asked')
/** A version of the key that signs tasks, in its grace. */
const revokedKid = createHash('sha256').update('sweep').digest('base64url')

export const writeNodeTasks = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  await sql(
    `insert into nodes (id, name, region, sku, gpus, created_at, enrolled_at) values ($1, 'sweep-asked', 'asked', 'asked', 1, now(), now())`,
    [askedNode],
  )
  await sql(
    `insert into task_signers (kid, version, certificate, envelope, epoch, state, created_at, activated_at, grace_until)
     select $1, 1000, 'none', '{}', epoch, 'grace', now(), now(), now() + interval '1 day' from installation`,
    [revokedKid],
  )
}

const because = { reason: 'because' }
export const onNodeTasks: Readonly<Record<string, RightfulCall>> = {
  'node.probe': { person: 'ada', params: { node_id: askedNode } },
  'node.task.list': { person: 'ada', params: { node_id: askedNode } },
  'node.signer.list': { person: 'ada', params: {} },
  'node.signer.rotate': { person: 'ada', params: {}, body: because },
  'node.signer.revoke': { person: 'ada', params: { kid: revokedKid }, body: because },
}
