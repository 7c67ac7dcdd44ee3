import type { ClientForm } from '@gatehouse/contract/oauth'
import { uuidPattern } from '@gatehouse/contract/shapes'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { decodeFormText } from '#rails/http/read-form.ts'
import { isSecretOf } from '../service-accounts/credential.ts'
import type { Prove } from '../tokens/credential-gate.ts'

/** Where a client can say who it is. */
export interface Shown {
  readonly authorization: string | undefined
  readonly form: ClientForm
  readonly fresh: FreshReader
}

/** Which key a client says it has, and how it is found out whether it has it. */
export interface Presented {
  readonly client_id: string
  readonly prove: Prove
}

/** One way for a client to say who it is, under the name that the metadata of OAuth give it. */
export interface ClientMethod {
  readonly name: string
  readonly isTried: (shown: Pick<Shown, 'authorization' | 'form'>) => boolean
  /** Throws where it was tried in a manner that nobody can have meant. */
  readonly read: (shown: Shown) => Presented
}

const invalid = (reason: string) => new Problem('token_invalid', undefined, new Error(reason))

/** The two parts of a Basic header; each is encoded like a field of a form (RFC 6749, 2.3.1). */
const readBasic = (authorization: string): [string, string] => {
  const encoded = /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1]
  if (encoded === undefined) throw invalid('the header is not of a client')
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('latin1')
  const colon = text.indexOf(':')
  if (bytes.toString('base64') !== encoded || colon < 0 || /[^\x21-\x7e]/.test(text)) throw invalid('the header has no id and secret')
  try {
    return [decodeFormText(text.slice(0, colon)), decodeFormText(text.slice(colon + 1))]
  } catch {
    throw invalid('the header is not encoded as it should be')
  }
}

/** Whatever else stands in the header was meant to say who asks, too. */
const secretInHeader: ClientMethod = {
  name: 'client_secret_basic',
  isTried: ({ authorization }) => authorization !== undefined,
  read: ({ authorization }) => {
    const [client_id, secret] = readBasic(authorization!)
    return { client_id, prove: (credential) => isSecretOf(credential, secret) }
  },
}

const secretInForm: ClientMethod = {
  name: 'client_secret_post',
  isTried: ({ form }) => form.client_secret !== undefined,
  read: ({ form: { client_id, client_secret } }) => {
    if (client_id === undefined) throw invalid('the form names no client')
    return { client_id, prove: (credential) => isSecretOf(credential, client_secret!) }
  },
}

/** Every way by a secret. */
export const clientMethods: readonly ClientMethod[] = [secretInHeader, secretInForm]

const isId = new RegExp(uuidPattern)
/** One spelling, or each would have its own count of wrong secrets. */
const settled = (client_id: string): string => (isId.test(client_id) ? client_id.toLowerCase() : client_id.slice(0, 200))

/** How the client says who it is: in one way, and in all places the same. */
export const presentedBy = (methods: readonly ClientMethod[], shown: Shown): Presented => {
  const [method, another] = methods.filter(({ isTried }) => isTried(shown))
  if (another) throw new Problem('invalid_request', { because: 'a client authenticates in one way' })
  if (!method) throw new Problem('token_missing')
  const { client_id, prove } = method.read(shown)
  const id = settled(client_id)
  if (shown.form.client_id !== undefined && settled(shown.form.client_id) !== id)
    throw new Problem('invalid_request', { because: 'two clients are named' })
  return { client_id: id, prove }
}
