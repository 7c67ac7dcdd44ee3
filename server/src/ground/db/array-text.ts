const isSpecial = /["\\]/

/**
 * An array as PostgreSQL reads it. The driver would make the same text, but looks at each element twice whether there is anything to
 * escape: rows that are written together come as arrays, so that is most of what is sent. What is none of these kinds is left to it.
 */
export const arrayText = (values: readonly unknown[]): string | readonly unknown[] => {
  let text = ''
  for (const value of values) {
    if (text !== '') text += ','
    if (value === null) text += 'NULL'
    else if (typeof value === 'number') text += value
    else if (typeof value === 'string') text += `"${isSpecial.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`
    else if (Buffer.isBuffer(value)) text += `"\\\\x${value.toString('hex')}"`
    else return values
  }
  return `{${text}}`
}
