import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Memory } from '#rails/audit/verify-chains.ts'
import type { Secret } from '../kernel/secret.ts'

/**
 * One line outside the database: where the chains that moved since the line before now end. Lines are signed and chained to each
 * other. A line of kind `restore_accepted` says that the chains were knowingly put back: what older lines remember past it is void.
 */
const Checkpoint = Exactly({
  number: Type.Integer({ minimum: 1 }),
  kind: Type.Union([Type.Literal('checkpoint'), Type.Literal('restore_accepted')]),
  at: Type.String(),
  installation_id: Type.String(),
  epoch: Type.Integer({ minimum: 1 }),
  heads: Type.Record(Type.String(), Exactly({ seq: Type.Integer({ minimum: 0 }), hash: Type.String({ pattern: '^[0-9a-f]{64}$' }) })),
  previous: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  public_key: Type.String(),
  signature: Type.String(),
})
export type Checkpoint = Static<typeof Checkpoint>
const shape = Compile(Checkpoint)

export class CheckpointsRefused extends Error {
  override readonly name = 'CheckpointsRefused'
}

// The fixed head of an Ed25519 private key in PKCS #8; the seed follows.
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex')
export const checkpointKey = (seed: Secret): KeyObject =>
  createPrivateKey({ key: Buffer.concat([pkcs8, Buffer.from(seed.reveal(), 'base64url')]), format: 'der', type: 'pkcs8' })

const publicText = (key: KeyObject): string => createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64url')
const lineHash = (line: string): string => hash('sha256', line, 'hex')
const beforeFirst = '0'.repeat(64)

export const signCheckpoint = (
  key: KeyObject,
  previousLine: string | undefined,
  content: Omit<Checkpoint, 'previous' | 'public_key' | 'signature'>,
): string => {
  const unsigned = { ...content, previous: previousLine === undefined ? beforeFirst : lineHash(previousLine), public_key: publicText(key) }
  return canonicalJson({ ...unsigned, signature: sign(null, Buffer.from(canonicalJson(unsigned)), key).toString('base64url') })
}

const parseLine = (line: string, number: number): Checkpoint => {
  try {
    const value: unknown = JSON.parse(line)
    if (shape.Check(value)) return value
  } catch {
    // Said below.
  }
  throw new CheckpointsRefused(`Checkpoint ${number} is not readable.`)
}

/**
 * Reads lines that follow `before` and believes them as a whole: each names the hash of the one before it, so our signature under
 * the last of them vouches for all.
 */
export const readCheckpoints = (
  lines: readonly string[],
  key: KeyObject,
  before: { readonly count: number; readonly line: string | undefined } = { count: 0, line: undefined },
  where?: string,
): Checkpoint[] => {
  try {
    return believed(lines, key, before)
  } catch (error) {
    // Most likely it is another file than the one that was meant.
    if (!(error instanceof CheckpointsRefused) || where === undefined) throw error
    throw new CheckpointsRefused(`${error.message} It stands in ${where}; check the path in GATEHOUSE_CHECKPOINT_FILE.`, { cause: error })
  }
}

const believed = (
  lines: readonly string[],
  key: KeyObject,
  before: { readonly count: number; readonly line: string | undefined },
): Checkpoint[] => {
  const read = lines.map((line, index) => {
    const number = before.count + index + 1
    const checkpoint = parseLine(line, number)
    const previous = lines[index - 1] ?? before.line
    if (checkpoint.number !== number || checkpoint.previous !== (previous === undefined ? beforeFirst : lineHash(previous)))
      throw new CheckpointsRefused(`Checkpoint ${number} does not follow the one before it.`)
    return checkpoint
  })
  const last = read.at(-1)
  if (last && !isOurs(last, key))
    throw new CheckpointsRefused(`Checkpoint ${last.number} does not bear the signature of this installation.`)
  return read
}

const isOurs = ({ signature, ...unsigned }: Checkpoint, key: KeyObject): boolean =>
  unsigned.public_key === publicText(key) &&
  verify(null, Buffer.from(canonicalJson(unsigned)), createPublicKey(key), Buffer.from(signature, 'base64url'))

/** What the checkpoints remember of each chain; an accepted restore voids what they remember past its own heads. */
export const memoryOf = (checkpoints: Iterable<Checkpoint>): Memory => {
  const memory = new Map<string, Map<number, string>>()
  for (const { kind, heads } of checkpoints) {
    if (kind === 'restore_accepted')
      for (const [chain_id, places] of memory) for (const seq of places.keys()) if (seq > (heads[chain_id]?.seq ?? 0)) places.delete(seq)
    for (const [chain_id, { seq, hash: at }] of Object.entries(heads)) {
      if (seq === 0) continue
      memory.set(chain_id, (memory.get(chain_id) ?? new Map<number, string>()).set(seq, at))
    }
  }
  return memory
}
