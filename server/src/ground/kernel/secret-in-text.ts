/**
 * One of ours, wherever it stands: of a service account, a node, the operator of a runtime, or a secret on its way. Its checksum may be
 * missing: whoever has the rest can make it.
 */
const ours = /gh(?:sa|ne|ro|wd)_[A-Za-z0-9_-]{43}/
/** How every header of a signed token begins, `{"` in base64url, and no header is shorter. */
const header = /eyJ[A-Za-z0-9_-]{10}/

/** Word by word and part by part, so that a long text is read once: a pattern for the whole would begin anew at each beginning. */
const holdsSignedToken = (text: string): boolean =>
  text.split(/[^A-Za-z0-9_.-]+/).some((word) => {
    const parts = word.split('.')
    return parts.some((part, at) => header.test(part) && parts[at + 1] && parts[at + 2])
  })

/** A private key as PuTTY and OpenSSH write it, the latter also without the lines around it. */
const privateMarks = ['PRIVATE KEY-----', 'PRIVATE KEY ----', 'PuTTY-User-Key-File-', 'b3BlbnNzaC1rZXktdjE']
/** The private member of a JWK, however often it was quoted. */
const privateMember = /"d\\*"\s*:\s*\\*"[A-Za-z0-9_+/-]{20}/
/** A private key in DER is a sequence that begins with a version and goes on with what belongs to a private key only (RFC 5208, 8017, 5915). */
const startsAsPrivateKey = (word: string): boolean => {
  // Every sequence begins so, and none of these is shorter.
  if (word.length < 60 || !/^M[A-P]/.test(word)) return false
  const bytes = Buffer.from(word.slice(0, 16), 'base64')
  const at = 2 + (bytes[1]! > 0x80 ? bytes[1]! - 0x80 : 0)
  return bytes[at] === 2 && bytes[at + 1] === 1 && bytes[at + 2]! <= 1 && [0x30, 2, 4].includes(bytes[at + 3]!)
}

/** No private key is shorter, and most texts are. */
const shortest = 20
const holdsPrivateKey = (text: string): boolean =>
  text.length >= shortest &&
  (privateMarks.some((mark) => text.includes(mark)) ||
    (text.includes('kty') && privateMember.test(text)) ||
    (text.length >= 60 && text.includes('M') && text.split(/[^A-Za-z0-9+/]+/).some(startsAsPrivateKey)))

/** No signed token is shorter, and nothing else is; most texts are. */
const shortestOfAll = 17
/** Something of each kind that no text of that kind is without: every text of every request is read, and hardly one has any of it. */
const anyMark = /gh[a-z]{2}_|eyJ|PRIVATE KEY|PuTTY-|b3Blb|kty|M[A-P]/

/** Whether a secret, a signed token or a private key stands in a text that is meant for something else. */
export const holdsSecret = (text: string): boolean =>
  text.length >= shortestOfAll &&
  anyMark.test(text) &&
  (ours.test(text) || (text.includes('eyJ') && holdsSignedToken(text)) || holdsPrivateKey(text))
