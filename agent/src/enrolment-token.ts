import { X509Certificate } from 'node:crypto'
import { uuidPattern } from '@gatehouse/contract/shapes'

const prefix = 'ghne_'

export interface EnrolmentToken {
  readonly text: string
  readonly url: string
  readonly node_id: string
  /** The authority by which the door is known; in PEM. */
  readonly authority: string
}

const told = (text: string): Partial<Record<'v' | 'url' | 'node_id' | 'secret' | 'ca', unknown>> => {
  try {
    return JSON.parse(Buffer.from(text.slice(prefix.length), 'base64url').toString('utf8'))
  } catch {
    return {}
  }
}

/** Never says what was in it: whoever mistyped a token may have pasted something else that is secret. */
export const readEnrolmentToken = (given: string): EnrolmentToken => {
  const text = given.trim()
  const { v, url, node_id, ca } = text.startsWith(prefix) ? told(text) : {}
  if (typeof url !== 'string' || typeof node_id !== 'string' || typeof ca !== 'string' || !new RegExp(uuidPattern).test(node_id))
    throw new Error('this is no enrolment token')
  if (v !== 1) throw new Error('this enrolment token is of a newer kind; the agent is too old for it')
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:') throw new Error('the enrolment token names no https address')
  return { text, url, node_id: node_id.toLowerCase(), authority: new X509Certificate(Buffer.from(ca, 'base64')).toString() }
}
