/** One of ours, a service account's or a node's, wherever it stands. Its checksum may be missing: whoever has the rest can make it. */
const ours = /gh(?:sa|ne)_[A-Za-z0-9_-]{43}/
/** How every header of a signed token begins, `{"` in base64url, and no header is shorter. */
const header = /eyJ[A-Za-z0-9_-]{10}/

/** Word by word and part by part, so that a long text is read once: a pattern for the whole would begin anew at each beginning. */
const holdsSignedToken = (text: string): boolean =>
  text.split(/[^A-Za-z0-9_.-]+/).some((word) => {
    const parts = word.split('.')
    return parts.some((part, at) => header.test(part) && parts[at + 1] && parts[at + 2])
  })

/** Whether a secret, a signed token or a private key stands in a text that is meant for something else. */
export const holdsSecret = (text: string): boolean =>
  ((text.includes('ghsa_') || text.includes('ghne_')) && ours.test(text)) ||
  (text.includes('eyJ') && holdsSignedToken(text)) ||
  text.includes('PRIVATE KEY-----')
