/** One line of JSON for what happened. Only what is named here and told by a caller's own choice: never a body, a key or a token. */
export type Log = (
  level: 'info' | 'warning' | 'error',
  event: string,
  told?: Readonly<Record<string, string | number | boolean | null>>,
) => void

export const logTo =
  (write: (line: string) => void): Log =>
  (level, event, told = {}) =>
    write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...told })}\n`)
