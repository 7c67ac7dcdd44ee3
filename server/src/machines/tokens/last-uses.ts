import type { Tx } from '#ground/db/database.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { noteUseOfOperatorKeys } from '#runtimes/operator-credentials/operator-credential-queries.ts'
import { noteUseOfKeys } from '../service-accounts/credential-queries.ts'
import type { MachineClass } from './machine-class.ts'

/** A key that was used, and by whom. */
interface Used {
  readonly actor_type: MachineClass
  readonly credential_id: string | null
}

/** What is to be noted of one minute. */
interface Uses {
  readonly minute: string
  readonly of_accounts: readonly string[]
  readonly of_operators: readonly string[]
}

/** When keys were last used, to the minute: a process writes once in a minute of one that is used in every second. */
export const lastUses = () => {
  /** The minute that this process has noted last. */
  const noted = recentlyUsed<string>(50_000)
  return {
    /** Of these, what this process has not noted yet. */
    unnoted: (now: string, used: readonly Used[]): Uses => {
      const minute = now.slice(0, 16)
      const idsOf = (isOperator: boolean) => {
        const ids = used.flatMap(({ actor_type, credential_id: id }) =>
          (actor_type === 'shared_runtime_operator') === isOperator && id !== null && noted.get(id) !== minute ? [id] : [],
        )
        return [...new Set(ids)]
      }
      return { minute, of_accounts: idsOf(false), of_operators: idsOf(true) }
    },
    write: (tx: Tx, { of_accounts, of_operators }: Uses): void => {
      if (of_accounts.length > 0) tx.last(noteUseOfKeys(of_accounts, tx.now))
      if (of_operators.length > 0) tx.last(noteUseOfOperatorKeys(of_operators, tx.now))
    },
    /** They are written, or about to be. */
    keep: ({ minute, of_accounts, of_operators }: Uses): void => {
      for (const id of [...of_accounts, ...of_operators]) noted.set(id, minute)
    },
  }
}
export type LastUses = ReturnType<typeof lastUses>
