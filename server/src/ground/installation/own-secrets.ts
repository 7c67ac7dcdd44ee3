import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { seal, unseal } from '../custody/envelope.ts'
import type { KeyRing } from '../custody/key-ring.ts'
import type { Database } from '../db/database.ts'
import { Secret } from '../kernel/secret.ts'
import { insertSecret, sealedSecret } from './installation-queries.ts'

/** What this installation needs to keep to itself, the same on all its processes. */
export type OwnSecret = 'cursor_key' | 'audit_key' | 'checkpoint_key'

export const boundOf = (name: string) => `installation_secrets.envelope ${name}`

/** The secret, made at its first use; of processes that start together the first one makes it. */
export const ownSecret = (database: Database, ring: KeyRing, name: OwnSecret): Promise<Secret> =>
  database.transaction('write', async (tx) => {
    const made = seal(ring, new Secret(randomBytes(32).toString('base64url')), boundOf(name))
    const known = await tx.maybe(sealedSecret(name))
    const kept = known ?? (await tx.maybe(insertSecret(name, JSON.stringify(made), tx.now))) ?? (await tx.one(sealedSecret(name)))
    return unseal(ring, kept.envelope, boundOf(name))
  })

/** The key of the audit chains; made once, because making it costs four times what using it does. */
export const auditKey = async (database: Database, ring: KeyRing): Promise<KeyObject> =>
  createSecretKey((await ownSecret(database, ring, 'audit_key')).reveal(), 'base64url')
