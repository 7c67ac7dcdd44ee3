/** A file that is written from something else and must never be edited. */
export type Document = { path: string; make(): Promise<string> }

/** A Markdown table. Not padded: one new row is to be one new line in a diff. */
export const tableOf = (header: readonly string[], rows: readonly (readonly string[])[]): string =>
  [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
