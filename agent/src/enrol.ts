import { askByToken, CertificateRefused } from './ask-certificate.ts'
import { type Door, openDoor, type Showing } from './door.ts'
import { readEnrolmentToken } from './enrolment-token.ts'
import type { IdentityFile } from './identity.ts'
import type { State } from './state.ts'

/** Makes a key, shows the token once, and keeps the certificate. What was applied before stays known: the node may enrol again. */
export const enrol = async (
  state: State,
  text: string,
  given_url: string | undefined,
  open: (showing: Showing) => Door = openDoor,
): Promise<IdentityFile> => {
  const token = readEnrolmentToken(text)
  const before = await state.identity('current')
  if (before && before.node_id !== token.node_id)
    throw new Error(`this machine is node ${before.node_id} already; gatehouse-agent clear takes away its accounts and its state first`)
  const url = given_url ?? token.url
  const door = open({ url, authority: token.authority })
  try {
    const identity = await askByToken(state, door, token, url).catch(async (error: unknown) => {
      if (!(error instanceof CertificateRefused)) throw error
      // A no for good: asked again with the same words it would be the same no. What may still be issued is kept.
      if (error.answer.status < 500 && ![409, 429].includes(error.answer.status)) await state.dropAsked()
      if (error.answer.status === 401)
        throw new Error('the token is not accepted: it was used, is older than 15 minutes, or another was made since')
      throw new Error(`the server does not give a certificate: ${error.message}`)
    })
    // Whoever enrols is asked anew for all that the control plane knows to be here. What it does not ask for it has forgotten.
    for (const each of await state.allocations()) await state.keepAllocation({ ...each, in_doubt: each.in_doubt ?? 'open' })
    await state.dropNextIdentity()
    await state.keepIdentity('current', identity)
    await state.dropAsked()
    return identity
  } finally {
    door.close()
  }
}
