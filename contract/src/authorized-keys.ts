import { type DesiredKey, keyTypes } from './node-tasks.ts'

/** What a line says beyond the key: letters, digits and what stands between them; no blank, so that it is one word. */
const comment = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/
const instant = /^(?!0000)\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

const refuse = (what: string): never => {
  throw new Error(`no line is written for ${what}`)
}

/** Bytes in base64 have one spelling: the last letter has no bits that say nothing. */
const base64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/

/**
 * The key in base64, and of the type that stands before it: it begins with the type and its length. What follows is the length of a field,
 * which has zeros in front, and so the beginning can be had in whole letters.
 */
const isKeyOf = (key_type: string, blob: string): boolean => {
  const begin = `\0\0\0${String.fromCharCode(key_type.length)}${key_type}`
  const whole = begin.padEnd(Math.ceil(begin.length / 3) * 3, '\0')
  return blob.length >= 60 && blob.length <= 4096 && base64.test(blob) && blob.startsWith(btoa(whole))
}

/**
 * `expiry-time` as sshd reads it: to the second, in UTC, and **the second that it names is still allowed**. So it is the last one that is
 * over before the end: nobody enters at the end or after it.
 */
const lastSecondBefore = (expires_at: string): string => {
  const end = Date.parse(expires_at)
  if (!instant.test(expires_at) || Number.isNaN(end) || new Date(end).toISOString() !== expires_at) refuse('an end that is no instant')
  const last = Math.floor(end / 1000) - 1
  // To sshd nothing ended before 1970, and zero means never.
  if (last < 1) refuse('an end before there was time')
  return new Date(last * 1000).toISOString().replaceAll(/[-T:]|\.000/g, '')
}

/** Only a security key can show that its holder was verified: to sshd the word says nothing of any other, which would let it in. */
const isSecurityKey = (key_type: string): boolean => key_type.startsWith('sk-')

/**
 * One line of a file of keys: an end and a demand for verification where there are such, the type, the key, and a comment of ours. There
 * is nothing else that it could write, and it throws rather than write something in part.
 */
export const authorizedKeysLine = (
  { key_type, blob, expires_at, verify_required }: Pick<DesiredKey, 'key_type' | 'blob' | 'expires_at' | 'verify_required'>,
  said: string,
): string => {
  if (!keyTypes.includes(key_type)) refuse('this type of key')
  if (!isKeyOf(key_type, blob)) refuse('what is no key of its type')
  if (!comment.test(said)) refuse('this comment')
  if (verify_required && !isSecurityKey(key_type)) refuse('a verification that this type of key cannot show')
  const options = [
    ...(verify_required ? ['verify-required'] : []),
    ...(expires_at === null ? [] : [`expiry-time="${lastSecondBefore(expires_at)}"`]),
  ]
  return `${options.length === 0 ? '' : `${options.join(',')} `}${key_type} ${blob} ${said}`
}
