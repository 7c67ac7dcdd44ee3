import { problems } from '@gatehouse/contract/problems'
import { type Document, tableOf } from './document.ts'

const make = async (): Promise<string> => {
  const rows = Object.entries(problems)
    .sort(([a, x], [b, y]) => x.status - y.status || (a < b ? -1 : 1))
    .map(([code, { status, message }]) => [String(status), `\`${code}\``, message])
  return `# Problems\n\nWritten by \`npm run generate\`. Every refusal there is: its status, its code and what it says.\n\n${tableOf(['status', 'code', 'message'], rows)}\n`
}

export const problemsDocument: Document = { path: 'docs/generated/problems.md', make }
