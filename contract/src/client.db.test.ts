import { expect, test } from 'vitest'
import { seeded, serverFixture } from '../../test/live-server.ts'
import { type Client, client, ProblemError } from './client.ts'
import { createOperatorCredential } from './operator-credentials.ts'
import { createProject, listProjects, readProject } from './projects.ts'
import { createAttachment, deleteAttachment, listAttachments } from './runtime-attachments.ts'
import { createSharedRuntime } from './shared-runtimes.ts'
import { issueSharedRuntimeOperatorToken } from './tokens.ts'

let alice: Client
const live = serverFixture({}, async (live) => {
  alice = client({ url: live.url, token: () => live.tokenOf('alice') })
})

const params = { org_id: seeded.org.aurora }
const refusalOf = async (call: Promise<unknown>) => {
  const error = await call.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ProblemError)
  return error as ProblemError
}

test('a change with the same key is the same change, and one without is another', async () => {
  const body = { name: 'Once', slug: 'once' }
  const first = await alice.call(createProject, { params, body, idempotency_key: 'once' })
  expect(await alice.call(createProject, { params, body, idempotency_key: 'once' })).toEqual(first)
  expect(await refusalOf(alice.call(createProject, { params, body }))).toMatchObject({ status: 409, code: 'project_already_exists' })
  expect(
    await refusalOf(alice.call(createProject, { params, body: { name: 'Other', slug: 'other' }, idempotency_key: 'once' })),
  ).toMatchObject({
    code: 'idempotency_key_reused',
  })
})

test('a refusal has its code, its reason, and the name under which the server knows it', async () => {
  const error = await refusalOf(alice.call(readProject, { params: { project_id: seeded.project.borealis } }))
  expect(error).toMatchObject({ status: 404, code: 'project_not_found' })
  expect(await live.auditOf(error.correlation_id)).toHaveLength(1)
  const nobody = client({ url: live.url })
  expect(await refusalOf(nobody.call(listProjects, { params }))).toMatchObject({ status: 401, code: 'token_missing' })
})

test('MI-07 an operator’s list that projects left on the way is not read on', async () => {
  const made = { app_slug: 'ray', app_version: '2', display_name: 'Paged', runtime_backend: 'ray' } as const
  const { id: shared_runtime_id } = await alice.call(createSharedRuntime, { params, body: made })
  const here = { params: { ...params, shared_runtime_id } }
  const attached: string[] = []
  for (const slug of ['paged-1', 'paged-2', 'paged-3']) {
    const { id: project_id } = await alice.call(createProject, { params, body: { name: slug, slug } })
    attached.push((await alice.call(createAttachment, { ...here, body: { project_id, contribution_policy: 'all' } })).id)
  }
  const { key_id, client_secret } = await alice.call(createOperatorCredential, { ...here, body: {} })
  const { access_token } = await client({ url: live.url }).call(issueSharedRuntimeOperatorToken, {
    body: { shared_runtime_id, key_id, client_secret },
  })
  const operator = client({ url: live.url, token: async () => access_token })
  const read = async (amid?: () => Promise<unknown>) => {
    const seen: string[] = []
    for await (const { id } of operator.each(listAttachments, { ...here, query: { limit: 1 } })) {
      seen.push(id)
      if (seen.length === 1) await amid?.()
    }
    return seen
  }
  expect(await read()).toEqual(attached)
  const detach = () =>
    alice.call(deleteAttachment, { params: { ...here.params, attachment_id: attached[2]! }, body: { reason: 'it leaves' } })
  expect(await refusalOf(read(detach))).toMatchObject({ status: 400, code: 'cursor_invalid' })
  expect(await read()).toEqual(attached.slice(0, 2))
})
