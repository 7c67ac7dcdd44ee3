import { checkPrimeSync, generateKeyPairSync, generatePrimeSync, randomBytes } from 'node:crypto'
import { keyLine, newCurvePoint, newEd25519Point, newFields, newKeyLine, numberOf, rsaFields } from './ssh-key-lines.ts'

/** A text that is no key to be taken, what is wrong with it, and where only that can be: the word that is said of it. */
export interface HostileText {
  readonly what: string
  readonly text: string
  readonly reason?: string
}

const controls = [
  ...Array.from({ length: 0x20 }, (_, at) => at),
  ...Array.from({ length: 0x21 }, (_, at) => 0x7f + at),
  ...[0xa0, 0xad, 0x1680, 0x2003, 0x200b, 0x200d, 0x2028, 0x2029, 0x202e, 0x205f, 0x2060, 0x3000, 0xfeff, 0xfffe, 0xe000],
].map((code) => String.fromCharCode(code))

/** Every such character wherever it could change what a line means. */
const withControls = (): HostileText[] => {
  const [type, base64] = newKeyLine().split(' ') as [string, string]
  const middle = [base64.slice(0, 20), base64.slice(20)] as const
  return controls.flatMap((each) =>
    (
      [
        ['before everything', `${each}${type} ${base64} me`],
        ['within the type', `ssh-${each}ed25519 ${base64} me`],
        ['after the type', `${type}${each} ${base64} me`],
        ['instead of the blank', `${type}${each}${base64} me`],
        ['before the key', `${type} ${each}${base64} me`],
        ['within the key', `${type} ${middle.join(each)} me`],
        ['after the key', `${type} ${base64}${each} me`],
        ['instead of the second blank', `${type} ${base64}${each}me`],
        ['within the comment', `${type} ${base64} m${each}e`],
        ['at the end', `${type} ${base64} me${each === '\n' ? '\n\n' : each}`],
      ] as const
    ).map(([where, text]) => ({ what: `U+${each.charCodeAt(0).toString(16)} ${where}`, text })),
  )
}

const options = [
  'command="id"',
  'environment="LD_PRELOAD=/tmp/x"',
  'cert-authority',
  'cert-authority,principals="root"',
  'permitopen="*:*"',
  'permitlisten="*"',
  'restrict',
  'restrict,pty',
  'from="*"',
  'no-pty',
  'agent-forwarding',
  'tunnel="0"',
  'verify-required',
  'no-touch-required',
  'expiry-time="20990101"',
  '@cert-authority *',
]

/** As others write lines, or more than one. */
const wrongLines = (): HostileText[] => {
  const line = newKeyLine()
  const [type, base64] = line.split(' ') as [string, string]
  const other = newKeyLine()
  const lines: readonly (readonly [string, string])[] = [
    ...options.flatMap((option) => [
      [`the option ${option}`, `${option} ${line}`] as const,
      [`${option} on a line`, `${option}\n${line}`] as const,
    ]),
    ...['\n', '\r\n', '\r', ' ', '\u2028', '\0'].map((between) => ['two keys', `${line}${between}${other}`] as const),
    ['a second key behind the first', `${type} ${base64} ${other}`],
    ['the key twice', `${type} ${base64} ${base64}`],
    ['a comment line', `# ${line}`],
    ['a comment line without a blank', `#${line}`],
    ['a comment line behind', `${type} ${base64} # me`],
    ['a comment line after', `${line}\n# me`],
    ['a blank in front', ` ${line}`],
    ['two blanks', `${type}  ${base64}`],
    ['two ends of line', `${line}\n\n`],
    ['DOS', `${line}\r\n`],
    ['nothing', ''],
    ['an end of line', '\n'],
    ['a blank', ' '],
    ['a type alone', type],
    ['a type and a blank', `${type} `],
    ['a key alone', base64],
    ['a key before its type', `${base64} ${type}`],
    ['a type in capitals', line.replace(type, type.toUpperCase())],
    ['a quoted line', `"${line}"`],
    ['a line of known hosts', `example.com ${line}`],
    ['a hashed host', `|1|abc=|def= ${line}`],
    ['a file of keys in XML', `<key>${line}</key>`],
    ['an address', `https://example.com/${base64}`],
    ['a version 1 key', '2048 65537 271828182845904523536 me'],
    ['RFC 4716', `---- BEGIN SSH2 PUBLIC KEY ----\n${base64}\n---- END SSH2 PUBLIC KEY ----`],
    ['PEM', generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }) as string],
    ['a comment of 20 KB', `${type} ${base64} ${'x'.repeat(20_000)}`],
    ['a comment of 1025', `${type} ${base64} ${'x'.repeat(1025)}`],
    ['200 KB', 'A'.repeat(200_000)],
    ['20 KB of blanks', `${type}${' '.repeat(20_000)}${base64}`],
  ]
  return lines.map(([what, text]) => ({ what, text }))
}

/** Bytes that are spelled in another way than they should be. */
const wrongBase64 = (): HostileText[] => {
  const [type, base64] = newKeyLine('ecdsa-sha2-nistp256').split(' ') as [string, string]
  const bare = base64.replace(/=+$/, '')
  const spelled: readonly (readonly [string, string])[] = [
    ['without its end', bare],
    ['with too long an end', `${base64}=`],
    ['with more behind its end', `${base64}AAAA`],
    ['with a blank end', `${bare} =`],
    ['for addresses', base64.replace(/.$/, '_')],
    ['with a hyphen', `-${base64.slice(1)}`],
    ['with an end in the middle', `${base64.slice(0, 20)}==${base64.slice(22)}`],
    [
      'with bits left over',
      `${bare.slice(0, -1)}${String.fromCharCode(bare.charCodeAt(bare.length - 1) + 1)}${'='.repeat(base64.length - bare.length)}`,
    ],
    ['in hexadecimal', Buffer.from(base64, 'base64').toString('hex')],
    ['twice', Buffer.from(base64).toString('base64')],
    ['with a sign that is none of its', base64.replace(/^..../, 'AA*A')],
    ...Array.from({ length: bare.length - 1 }, (_, at) => [`cut off after ${at + 1}`, base64.slice(0, at + 1)] as const),
  ]
  return spelled.map(([what, text]) => ({ what: `base64 ${what}`, text: `${type} ${text} me` }))
}

/** Every bit of what says how long things are and of which type. */
const wrongHeads = (): HostileText[] =>
  Object.entries(newFields).flatMap(([type, make]) => {
    const fields = make()
    const bytes = Buffer.from(keyLine(type, fields).split(' ')[1]!, 'base64')
    const head = 4 + type.length + 4
    const flipped = Array.from({ length: head * 8 }, (_, bit) => {
      const changed = Buffer.from(bytes)
      changed[bit >> 3]! ^= 1 << (bit & 7)
      return { what: `${type} with bit ${bit} changed`, text: `${type} ${changed.toString('base64')}` }
    })
    const others = Object.keys(newFields)
      .filter((other) => other !== type)
      .map((other) => ({ what: `${type} called ${other}`, text: `${other} ${bytes.toString('base64')}`, reason: 'type_mismatch' }))
    const more = [1, 3, 4, 8, 100].map((length) => ({
      what: `${type} with ${length} bytes behind it`,
      text: `${type} ${Buffer.concat([bytes, Buffer.alloc(length)]).toString('base64')}`,
      reason: 'malformed',
    }))
    const less = [1, 3, 4, 8].map((length) => ({
      what: `${type} without its last ${length} bytes`,
      text: `${type} ${bytes.subarray(0, -length).toString('base64')}`,
      reason: 'malformed',
    }))
    const again = { what: `${type} with a field more`, text: keyLine(type, [...fields, Buffer.from('x')]), reason: 'malformed' }
    return [...flipped, ...others, ...more, ...less, again]
  })

const otherTypes = (): HostileText[] => {
  const point = newEd25519Point()
  return [
    ...['ssh-ed25519', 'ssh-rsa', 'ecdsa-sha2-nistp256', 'sk-ssh-ed25519'].flatMap((type) =>
      [`${type}-cert-v01@openssh.com`, `${type}-cert-v00@openssh.com`].map((cert) => keyLine(cert, [randomBytes(32), point])),
    ),
    ...[
      'ssh-dss',
      'ssh-ed448',
      'ssh-xmss@openssh.com',
      'rsa-sha2-256',
      'rsa-sha2-512',
      'null',
      'ssh-rsa1',
      'pgp-sign-rsa',
      'x509v3-ssh-rsa',
    ].map((type) => keyLine(type, [point])),
    keyLine(
      'ssh-dss',
      [1024, 160, 1024, 1024].map((bits) => Buffer.concat([Buffer.of(0, 0x80), randomBytes(bits / 8 - 1)])),
    ),
    keyLine('webauthn-sk-ecdsa-sha2-nistp256@openssh.com', newFields['sk-ecdsa-sha2-nistp256@openssh.com']!()),
    keyLine('__proto__', [point]),
    keyLine('constructor', [point]),
  ].map((text) => ({ what: `the type ${text.split(' ')[0]}`, text, reason: 'type_not_accepted' }))
}

const field = 2n ** 255n - 19n
const edwards = (y: bigint, is_odd = false): Buffer => {
  const bytes = Buffer.from((y | (is_odd ? 1n << 255n : 0n)).toString(16).padStart(64, '0'), 'hex')
  return bytes.reverse()
}
/** No x belongs to it. */
const offCurve = (): Buffer => {
  // Known from the curve's own equation: 2 is no y of any of its points.
  return edwards(2n)
}
const order8 = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n

const wrongPoints = (): HostileText[] => {
  const p521 = 2n ** 521n - 1n
  const p256 = newCurvePoint('P-256')
  const changed = Buffer.from(p256)
  changed[64]! ^= 1
  const beyond = () => {
    const point = newCurvePoint('P-521')
    const x = (numberOf(point.subarray(1, 67)) + p521).toString(16).padStart(132, '0')
    return Buffer.concat([Buffer.of(4), Buffer.from(x, 'hex'), point.subarray(67)])
  }
  const onEdwards: readonly (readonly [string, Buffer])[] = [
    ['off the curve', offCurve()],
    ...[0n, 1n, field - 1n, order8, field - order8].flatMap((y) =>
      [false, true].map((is_odd) => [`of small order ${y}`, edwards(y, is_odd)] as const),
    ),
    ...[0n, 1n, 3n, 18n].map((more) => [`with y beyond the field by ${more}`, edwards(field + more)] as const),
    ['of all ones', Buffer.alloc(32, 0xff)],
  ]
  const onNist: readonly (readonly [string, string, Buffer])[] = [
    ['off the curve', 'nistp256', changed],
    ['at infinity', 'nistp256', Buffer.of(0)],
    ['of nothing', 'nistp256', Buffer.alloc(0)],
    ['of zeros', 'nistp256', Buffer.concat([Buffer.of(4), Buffer.alloc(64)])],
    ['compressed', 'nistp256', Buffer.concat([Buffer.of(2 + (p256[64]! & 1)), p256.subarray(1, 33)])],
    ['in the hybrid form', 'nistp256', Buffer.concat([Buffer.of(6 + (p256[64]! & 1)), p256.subarray(1)])],
    ['with zeros in front', 'nistp256', Buffer.concat([Buffer.of(4, 0), p256.subarray(1, 33), Buffer.of(0), p256.subarray(33)])],
    ['of another curve', 'nistp384', p256],
    ['of another curve of the same length', 'nistp256', Buffer.concat([Buffer.of(4), randomBytes(64)])],
    ['beyond the field', 'nistp521', beyond()],
  ]
  return [
    ...onEdwards.flatMap(([what, point]) => [
      { what: `Ed25519 ${what}`, text: keyLine('ssh-ed25519', [point]), reason: 'point_invalid' },
      {
        what: `Ed25519 on a security key ${what}`,
        text: keyLine('sk-ssh-ed25519@openssh.com', [point, Buffer.from('ssh:')]),
        reason: 'point_invalid',
      },
    ]),
    ...[0, 1, 31, 33, 64].map((length) => ({
      what: `Ed25519 of ${length} bytes`,
      text: keyLine('ssh-ed25519', [randomBytes(length)]),
      reason: 'malformed',
    })),
    ...onNist.map(([what, curve, point]) => ({
      what: `ECDSA ${what}`,
      text: keyLine(`ecdsa-sha2-${curve}`, [Buffer.from(curve), point]),
      reason: 'point_invalid',
    })),
    ...['nistp384', 'nistp25', 'NISTP256', 'secp256k1', '', 'nistp256\0'].map((curve) => ({
      what: `ECDSA with the curve ${curve}`,
      text: keyLine('ecdsa-sha2-nistp256', [Buffer.from(curve), p256]),
      reason: 'type_mismatch',
    })),
    ...['', 'web:example.com', 'SSH:', 'ssh', 'ssh: x', 'ssh:\n', 'ssh:é', `ssh:${'x'.repeat(300)}`].map((application) => ({
      what: `a security key for ${application.slice(0, 20)}`,
      text: keyLine('sk-ssh-ed25519@openssh.com', [newEd25519Point(), Buffer.from(application)]),
      reason: 'malformed',
    })),
    { what: 'a security key for nothing', text: keyLine('sk-ssh-ed25519@openssh.com', [newEd25519Point()]), reason: 'malformed' },
  ]
}

const primesUpTo = (end: number) =>
  Array.from({ length: end - 1 }, (_, at) => at + 2).filter(
    (n) => !Array.from({ length: Math.floor(Math.sqrt(n)) }, (_, at) => at + 2).some((d) => d < n && n % d === 0),
  )
const small = primesUpTo(10_000).map(BigInt)
const hasSmallFactor = (number: bigint) => small.some((prime) => number % prime === 0n)
const randomBits = (bits: number): bigint => numberOf(randomBytes(bits / 8)) | (1n << BigInt(bits - 1)) | 1n
/** Passes for a modulus: it is long, odd and has no small factor. */
export const modulusOf = (bits: number): bigint => {
  for (;;) {
    const number = randomBits(bits)
    if (!hasSmallFactor(number)) return number
  }
}
const powerModulo = (number: bigint, exponent: bigint, modulus: bigint): bigint => {
  let result = 1n
  for (let [square, left] = [number % modulus, exponent]; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}
/** A product of primes as the chips of CVE-2017-15361 made them: a power of 65537 as far as the first primes can tell. */
const rocaModulus = (): bigint => {
  const product = primesUpTo(700)
    .map(BigInt)
    .reduce((all, prime) => all * prime, 1n)
  for (;;) {
    const number = powerModulo(65_537n, numberOf(randomBytes(16)), product) + product * (randomBits(2048) / product)
    if (number.toString(2).length === 2048 && !hasSmallFactor(number)) return number
  }
}
const nextPrime = (after: bigint): bigint => {
  let number = after + 2n
  while (!checkPrimeSync(number)) number += 2n
  return number
}

const weakRsa = (): HostileText[] => {
  const prime = generatePrimeSync(1024, { bigint: true }) | 1n
  const sound = modulusOf(2048)
  const weak: readonly (readonly [string, bigint, bigint])[] = [
    ...[1n, 2n, 4n, 65_536n, 2n ** 64n + 1n, 2n ** 255n + 1n].map((e) => [`the exponent ${e}`, e, sound] as const),
    ['an even modulus', 65_537n, sound - 1n],
    ...[3n, 5n, 257n, 9973n].map((factor) => [`the factor ${factor}`, 65_537n, factor * ((modulusOf(2056) / factor) | 1n)] as const),
    ['one prime twice', 65_537n, prime * prime],
    ['two primes beside each other', 65_537n, prime * nextPrime(prime)],
    ['ROCA', 65_537n, rocaModulus()],
  ]
  const spelled: readonly (readonly [string, Buffer, Buffer])[] = [
    ['no exponent', Buffer.alloc(0), rsaFields(3n, sound)[1]!],
    ['an exponent of zero', Buffer.of(0), rsaFields(3n, sound)[1]!],
    ['a negative exponent', Buffer.of(0x81), rsaFields(3n, sound)[1]!],
    ['an exponent with a zero in front', Buffer.of(0, 1, 0, 1), rsaFields(3n, sound)[1]!],
    ['no modulus', Buffer.of(1, 0, 1), Buffer.alloc(0)],
    ['a negative modulus', Buffer.of(1, 0, 1), Buffer.from(sound.toString(16), 'hex')],
    ['a modulus with two zeros in front', Buffer.of(1, 0, 1), Buffer.concat([Buffer.alloc(2), Buffer.from(sound.toString(16), 'hex')])],
  ]
  return [
    ...weak.map(([what, e, n]) => ({ what: `RSA with ${what}`, text: keyLine('ssh-rsa', rsaFields(e, n)), reason: 'weak' })),
    ...[512, 768, 1024, 1536, 2040].map((bits) => ({
      what: `RSA of ${bits} bits`,
      text: keyLine('ssh-rsa', rsaFields(65_537n, modulusOf(bits))),
      reason: 'too_short',
    })),
    { what: 'RSA of 2047 bits', text: keyLine('ssh-rsa', rsaFields(65_537n, (sound >> 1n) | 1n)), reason: 'too_short' },
    { what: 'RSA of 16392 bits', text: keyLine('ssh-rsa', rsaFields(65_537n, randomBits(16_392))), reason: 'too_long' },
    ...spelled.map(([what, e, n]) => ({ what: `RSA with ${what}`, text: keyLine('ssh-rsa', [e, n]), reason: 'malformed' })),
  ]
}

/** Each in the form in which somebody has it on his disk; `secret` stands in it. */
export const privateKeyTexts = (secret = randomBytes(32).toString('base64')): HostileText[] => {
  const pem = (kind: string) => `-----BEGIN ${kind}-----\n${secret}\n-----END ${kind}-----\n`
  const inOpenSsh = Buffer.concat([Buffer.from('openssh-key-v1\0'), Buffer.from(secret)]).toString('base64')
  const jwk = JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: newEd25519Point().toString('base64url'), d: secret })
  const texts: readonly (readonly [string, string])[] = [
    ...['PRIVATE KEY', 'ENCRYPTED PRIVATE KEY', 'RSA PRIVATE KEY', 'EC PRIVATE KEY', 'DSA PRIVATE KEY', 'OPENSSH PRIVATE KEY'].flatMap(
      (kind) => [
        [kind, pem(kind)] as const,
        [`${kind} in one line`, pem(kind).replaceAll('\n', ' ').trim()] as const,
        [`${kind} behind a public one`, `${newKeyLine()}\n${pem(kind)}`] as const,
      ],
    ),
    ['half of one', `-----BEGIN OPENSSH PRIVATE KEY-----\n${secret}`],
    ['SSH2', `---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n${secret}\n`],
    ['PuTTY', `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me\nPrivate-Lines: 1\n${secret}\nPrivate-MAC: 00`],
    ['a JWK', jwk],
    ['a JWK with blanks', jwk.replace('"d":', '"d" : ')],
    ['the body of a file', inOpenSsh],
    ['the body of a file as a public one', `ssh-ed25519 ${inOpenSsh} me`],
  ]
  return texts.map(([what, text]) => ({ what: `a private key: ${what}`, text, reason: 'private_key' }))
}

/** What nobody could tell from noise: refused, but not by its name. */
const rawSecrets = (): HostileText[] => {
  const { privateKey } = generateKeyPairSync('ed25519')
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32)
  return [
    { what: 'a seed in base64', text: seed.toString('base64') },
    { what: 'a seed in hexadecimal', text: seed.toString('hex') },
    { what: 'a seed as a public key', text: `ssh-ed25519 ${seed.toString('base64')}` },
    { what: 'PKCS #8 in base64', text: privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64') },
  ]
}

/** All of them; made anew each time. */
export const hostileTexts = (): HostileText[] => [
  ...withControls(),
  ...wrongLines(),
  ...wrongBase64(),
  ...wrongHeads(),
  ...otherTypes(),
  ...wrongPoints(),
  ...weakRsa(),
  ...privateKeyTexts(),
  ...rawSecrets(),
]
