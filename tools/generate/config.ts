import { configSettings } from '@gatehouse/server/process/config-settings'
import { type Document, tableOf } from './document.ts'

const make = async (): Promise<string> => {
  const rows = configSettings.map(({ name, default: fallback, is_secret, purpose }) => [
    `\`${name}\``,
    fallback === null ? '*required*' : `\`${fallback}\``,
    is_secret ? 'yes' : '',
    purpose,
  ])
  const head =
    'Written by `npm run generate`. Every setting the server reads, all from its environment; a name it does not know is refused.'
  return `# Configuration\n\n${head}\n\n${tableOf(['setting', 'default', 'secret', 'what it is for'], rows)}\n`
}

export const configDocument: Document = { path: 'docs/generated/config.md', make }
