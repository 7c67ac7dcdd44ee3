import type { Operation } from '@gatehouse/contract/operation'

/** The path of an operation for these ids, and a query where there is one. */
export const pathOf = (
  { path }: Pick<Operation, 'path'>,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | number>> = {},
): string => {
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString()
  return asked === '' ? filled : `${filled}?${asked}`
}
