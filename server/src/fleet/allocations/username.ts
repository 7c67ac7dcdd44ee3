import { randomBytes } from 'node:crypto'

const letters = 'abcdefghijklmnopqrstuvwxyz234567'

/** Sixty bits of chance in base32: nobody else's name on any node, and nothing that a person or a system is called. */
export const newUsername = (): string => `gh-${[...randomBytes(12)].map((byte) => letters[byte % letters.length]).join('')}`
