import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { secretsBeginning } from '#ground/kernel/spelled-secret.ts'
import { keySource, type NamedKey } from '#machines/service-accounts/key-source.ts'
import { type OperatorKey, operatorKeysOf } from './operator-credential-queries.ts'

/** The secrets of operators are known from those of service accounts by how they begin. */
export const { make: newOperatorSecret } = secretsBeginning('ghro_')

const keys: Source<NamedKey, OperatorKey> = keySource('operator credential', operatorKeysOf)

/** The credential as it is now; undefined where that runtime of that organization has no such one. */
export const wantOperatorKey = (named: NamedKey): Wanted<OperatorKey> => want(keys, named)
