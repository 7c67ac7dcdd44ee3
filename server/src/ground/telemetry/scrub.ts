const redacted = '[redacted]'

// Every repetition is bounded, so that a long line costs no more than its length.
const patterns: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[^"]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|(?=")|$)/g, '[private key]'],
  // A token's first part begins with `{"`, `{ "` or `{` and a line break; half a token is one too.
  [/\be(?:yJ|yA|wo|w0)[A-Za-z0-9_-]{10,8000}(?:\.[A-Za-z0-9_-]{0,8000}){0,4}/g, '[token]'],
  [/\b(Bearer|Basic|DPoP) +[A-Za-z0-9._~+/=-]{8,8000}/gi, `$1 ${redacted}`],
  [/\b([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/"\\]{0,200}):[^\s@/"\\]{1,1000}@/gi, `$1:${redacted}@`],
  // Members that came in another way than through `loggable`: a child logger's own.
  [
    /("(?:[\w-]{0,40}(?:secret|password|token|authorization|cookie|credential|private_?key|assertion)[\w-]{0,20}|[\w-]{0,40}[_-]key)": ?)"(?:[^"\\]|\\.)+"/gi,
    `$1"${redacted}"`,
  ],
  // JSON inside a text: a private JWK, a form that somebody printed.
  [
    /(\\"(?:d|p|q|dp|dq|qi|k|password|secret|client_secret|credential_secret|private_key|access_token|refresh_token|id_token|token)\\": ?\\")[^"\\]{1,8000}/g,
    `$1${redacted}`,
  ],
  [/\b(password|client_secret|secret|access_token|refresh_token|id_token|token)=[^\s&"'\\]{1,8000}/gi, `$1=${redacted}`],
  // A query may hold what its sender should not have put there.
  [/(\/[\w.:%~-]{1,200})\?[^\s"\\]{1,8000}/g, `$1?${redacted}`],
]

/** The last look over a text before it leaves: whatever is shaped like a credential is blotted out, wherever it came from. */
export const scrub = (text: string): string => patterns.reduce((seen, [pattern, instead]) => seen.replace(pattern, instead), text)
