import { createHash, randomUUID } from 'node:crypto'
import { enrolNode, renewCertificate } from '@gatehouse/contract/nodes'
import { type Answer, type Door, refusalIn } from './door.ts'
import type { EnrolmentToken } from './enrolment-token.ts'
import { type Identity, type IdentityFile, openIdentity } from './identity.ts'
import { pathOf } from './path-of.ts'
import { newKey, signingRequest } from './signing-request.ts'
import type { Asked, State } from './state.ts'
import { agent_version } from './version.ts'

/** The control plane said no; the answer says in which manner. */
export class CertificateRefused extends Error {
  readonly answer: Answer
  constructor(answer: Answer) {
    super(`refused: ${answer.status} ${refusalIn(answer).code}`)
    this.answer = answer
  }
}

/** The same request as last time, if its answer never came: whoever asks with other words gets another certificate, and a node has few. */
const askedWith = async (state: State, asked_with: string, node_id: string): Promise<Asked> => {
  const before = await state.asked()
  if (before?.asked_with === asked_with) return before
  const key = newKey()
  const asked: Asked = {
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
    csr: signingRequest(key, node_id),
    idempotency_key: randomUUID(),
    asked_with,
  }
  await state.keepAsked(asked)
  return asked
}

/** What an answer gives us to show from now on; refused where it is not for this node and this key, or of another authority. */
const identityIn = (
  answer: Answer,
  key: string,
  pinned: Pick<IdentityFile, 'node_id' | 'url' | 'authority' | 'former_key_thumbprint'>,
): IdentityFile => {
  if (answer.status !== 201) throw new CertificateRefused(answer)
  const { node_id, certificate, expires_at, renew_after } = answer.body as Partial<IdentityFile>
  if (node_id !== pinned.node_id || !certificate || !expires_at || !renew_after)
    throw new Error('the answer holds no certificate for this node')
  const file: IdentityFile = { ...pinned, key, certificate, expires_at, renew_after }
  openIdentity(file)
  return file
}

export const askByToken = async (state: State, door: Door, token: EnrolmentToken, url: string): Promise<IdentityFile> => {
  const digest = createHash('sha256').update(token.text).digest('hex')
  const { key, csr, idempotency_key } = await askedWith(state, digest, token.node_id)
  const body = { enrolment_token: token.text, csr, agent_version }
  const answer = await door.ask({ method: 'POST', path: pathOf(enrolNode), body, idempotency_key })
  return identityIn(answer, key, { node_id: token.node_id, url, authority: token.authority, former_key_thumbprint: null })
}

export const askByCertificate = async (
  state: State,
  door: Door,
  { node_id, url, authority, key_thumbprint }: Identity,
): Promise<IdentityFile> => {
  const { key, csr, idempotency_key } = await askedWith(state, key_thumbprint, node_id)
  const answer = await door.ask({ method: 'POST', path: pathOf(renewCertificate, { node_id }), body: { csr }, idempotency_key })
  return identityIn(answer, key, { node_id, url, authority, former_key_thumbprint: key_thumbprint })
}
