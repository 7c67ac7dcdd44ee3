import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { authorizedKeysLine } from '@gatehouse/contract/authorized-keys'
import { keyTypes } from '@gatehouse/contract/node-tasks'
import { describe, expect, test } from 'vitest'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { hasPart, parts } from '../../../../tools/test/parts.ts'
import { type PublicKey, parsePublicKey } from './ssh-public-key.ts'

const folder = temporaryFolder('ssh-keygen')

const keygen = (...args: string[]): string => execFileSync(parts.ssh.path, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
let count = 0
/** A new pair as somebody makes it: the folder's name for it. */
const madeBy = (...args: string[]): string => {
  count += 1
  const path = join(folder, `key-${count}`)
  keygen('-q', '-N', '', '-f', path, ...args)
  return path
}
const accepted = (text: string): PublicKey => {
  const key = parsePublicKey(text)
  if ('refused' in key) throw new Error(`refused: ${key.refused}`)
  return key
}
/** `256 SHA256:… comment (ED25519)` */
const toldOf = (path: string): [bits: number, fingerprint: string] => {
  const [bits, fingerprint] = keygen('-l', '-E', 'sha256', '-f', path).split(' ')
  return [Number(bits), fingerprint!]
}

describe.skipIf(!hasPart('ssh'))('keys as ssh-keygen makes them (needs ssh)', () => {
  test.for([
    ['ed25519', ['-t', 'ed25519']],
    ['ecdsa 256', ['-t', 'ecdsa', '-b', '256']],
    ['ecdsa 384', ['-t', 'ecdsa', '-b', '384']],
    ['ecdsa 521', ['-t', 'ecdsa', '-b', '521']],
    ['rsa 2048', ['-t', 'rsa', '-b', '2048']],
    ['rsa 3072', ['-t', 'rsa', '-b', '3072']],
    ['without a comment', ['-t', 'ed25519', '-C', '']],
    ['with a long comment', ['-t', 'ed25519', '-C', 'José on the laptop, 2026 (work)']],
  ] as const)('SG-14 %s is taken as it stands in its file, with the same length and fingerprint (needs ssh)', ([, args]) => {
    const path = madeBy(...args)
    const key = accepted(readFileSync(`${path}.pub`, 'utf8'))
    expect([key.bits, key.fingerprint]).toEqual(toldOf(`${path}.pub`))
  })

  test.for(keyTypes)('SG-14 the line that is written of %s is the same key to it (needs ssh)', (type) => {
    const key = accepted(newKeyLine(type))
    const path = join(folder, `line-${type}`)
    for (const expires_at of [null, '2030-01-01T00:00:00.000Z']) {
      writeFileSync(path, `${authorizedKeysLine({ ...key, expires_at }, 'gatehouse:x')}\n`)
      expect(toldOf(path)).toEqual([key.bits, key.fingerprint])
    }
  })

  test('SG-14 S1 S2 what it makes besides is refused: private keys, certificates, short ones, other formats (needs ssh)', () => {
    const own = madeBy('-t', 'ed25519')
    const authority = madeBy('-t', 'ed25519')
    keygen('-q', '-s', authority, '-I', 'id', '-n', 'root', `${own}.pub`)
    const texts = [
      ['private_key', readFileSync(own, 'utf8')],
      ['private_key', readFileSync(madeBy('-t', 'rsa', '-b', '2048', '-m', 'PEM'), 'utf8')],
      ['private_key', readFileSync(madeBy('-t', 'ecdsa', '-m', 'PKCS8'), 'utf8')],
      ['type_not_accepted', readFileSync(`${own}-cert.pub`, 'utf8')],
      ['too_short', readFileSync(`${madeBy('-t', 'rsa', '-b', '1024')}.pub`, 'utf8')],
      ['not_one_line', keygen('-e', '-f', `${own}.pub`)],
      ['not_one_line', keygen('-e', '-m', 'PKCS8', '-f', `${madeBy('-t', 'rsa', '-b', '2048')}.pub`)],
    ] as const
    for (const [reason, text] of texts) expect([text.slice(0, 40), parsePublicKey(text)]).toEqual([text.slice(0, 40), { refused: reason }])
  })
})
