import { operations } from '@gatehouse/contract/operations'
import { operatorAccess } from '../../server/src/runtimes/shared-runtimes/operator-allowlist.ts'
import { type Document, tableOf } from './document.ts'

/** One line for each operation that the operator of a shared runtime may call: a list that grows is one new line to review. */
const make = async (): Promise<string> => {
  const rows = operations
    .flatMap((operation) => operatorAccess(operation) ?? [])
    .map(({ operation: { method, path }, action, is_delegated }) => ({ method, path, action, is_delegated }))
    .sort((a, b) => (`${a.path} ${a.method}` < `${b.path} ${b.method}` ? -1 : 1))
    .map(({ method, path, action, is_delegated }) => [method, `\`${path}\``, `\`${action}\``, is_delegated ? 'where delegated' : 'always'])
  return `# What the operator of a shared runtime may call

Generated from the \`actors\` of each operation by \`npm run generate\`; never edited. What is not here is refused to operators. What is here is still judged: by the
token's organization and runtime, by the project that is involved, and by rules.

${tableOf(['Method', 'Path', 'Action', 'Open'], rows)}
`
}

export const operatorAllowlistDocument: Document = { path: 'docs/generated/operator-allowlist.md', make }
