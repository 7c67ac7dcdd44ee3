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
    throw new Error(`this machine is node ${before.node_id} already; move ${state.folder} away to make another of it`)
  const url = given_url ?? token.url
  const door = open({ url, authority: token.authority })
  try {
    const identity = await askByToken(state, door, token, url).catch((error: unknown) => {
      if (!(error instanceof CertificateRefused)) throw error
      if (error.answer.status === 401)
        throw new Error('the token is not accepted: it was used, is older than 15 minutes, or another was made since')
      throw new Error(`the server does not give a certificate: ${error.message}`)
    })
    await state.dropNextIdentity()
    await state.keepIdentity('current', identity)
    await state.dropAsked()
    return identity
  } finally {
    door.close()
  }
}
