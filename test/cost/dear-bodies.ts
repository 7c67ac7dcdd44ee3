/** What makes a reader of JSON or of forms work hardest, as far as anybody has found, each as large as it may be. */
const filled = (size: number, head: string, unit: (n: number) => string, tail: string): Buffer => {
  const pieces = [head]
  let length = Buffer.byteLength(head) + Buffer.byteLength(tail)
  for (let n = 0; ; n += 1) {
    const piece = unit(n)
    length += Buffer.byteLength(piece)
    if (length > size) break
    pieces.push(piece)
  }
  return Buffer.from([...pieces, tail].join(''))
}

const text = (size: number, unit: string) => filled(size, '{"a":"', () => unit, '"}')
const list = (size: number, first: string, unit: (n: number) => string) => filled(size, `[${first}`, (n) => `,${unit(n)}`, ']')

export const dearJson = (size: number): Readonly<Record<string, Buffer>> => ({
  'escaped letters': text(size, '\\u0061'),
  'short escapes': text(size, '\\n'),
  'escaped backslashes': text(size, '\\\\'),
  'escaped quotes': text(size, '\\"'),
  'escaped marks': text(size, '\\u0301a'),
  '30 marks on each letter': text(size, `a${'\u0301'.repeat(30)}`),
  '30 marks out of order': text(size, `a${'\u0301\u0316'.repeat(15)}`),
  'letters to compose': text(size, 'e\u0301'),
  'syllables to compose': text(size, '\u1100\u1161\u11a8'),
  'surrogate pairs': text(size, '\u{1f600}'),
  'escaped names': list(size, '{"\\u0061":1}', () => '{"\\n":1}'),
  'different names': list(size, '{"a":1}', (n) => `{"a${n}":1}`),
  'different escaped names': list(size, '{"a":1}', (n) => `{"\\u0061${n}":1}`),
  'large objects': list(size, '1', (n) => `{${Array.from({ length: 100 }, (_, each) => `"a${n}_${each}":1`).join(',')}}`),
  'empty objects': list(size, '{}', () => '{}'),
  'empty lists': list(size, '[]', () => '[]'),
  'short texts': list(size, '""', () => '"\\n"'),
  numbers: list(size, '1', () => '1e-9'),
  'one number': filled(size, '[1.', () => '1', ']'),
  'white space': filled(size, '[1', () => ' ', ']'),
  'deep lists': list(size, '1', () => '[[[[[[[[[[1]]]]]]]]]]'),
})

export const dearForms = (size: number): Readonly<Record<string, Buffer>> => ({
  'encoded letters': filled(size, 'grant_type=', () => '%61', ''),
  'encoded surrogate pairs': filled(size, 'grant_type=', () => '%F0%9F%98%80', ''),
  'a bad encoding at the end': filled(size, 'grant_type=', () => '%61', '%'),
  blanks: filled(size, 'grant_type=', () => '+', ''),
  'many fields': filled(size, 'grant_type=x', (n) => (n < 90 ? `&f${n}=%61` : ''.padEnd(20, '&')), ''),
  separators: filled(size, 'grant_type=x', () => '&', ''),
  'fields without a value': filled(size, 'a', (n) => `&${n}`, ''),
  'a signed token of nothing': filled(size, 'grant_type=client_credentials&client_assertion=', () => 'eyJh', '.e30.AA'),
  'many dots': filled(size, 'token=', () => '.', ''),
})
