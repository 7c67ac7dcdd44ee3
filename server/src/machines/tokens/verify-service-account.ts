import type { Actor } from '#ground/work/work.ts'
import { keysOfBelonging } from '#rails/authz/carried-keys.ts'
import type { Facts } from '#rails/authz/facts.ts'
import type { Caller } from '#rails/http/answer.ts'
import { type Credential, wantCredential } from '../service-accounts/credential.ts'
import { homeOfAccount } from '../service-accounts/credential-queries.ts'
import { type CredentialClass, type Home, nowhere } from './credential-class.ts'
import { type Claimed, credentialGate, type GateParts, type Prove } from './credential-gate.ts'
import type { LastUses } from './last-uses.ts'
import type { Bound } from './token-policy.ts'

/** An account lives in one project. */
interface AccountHome extends Home {
  readonly project_id: string
}

/** Most accounts have one of a few roles, whose keys are one set as long as they are kept. */
const held = new WeakMap<ReadonlySet<string>, ReadonlySet<string>>()
export const heldBy = ({ project: { allowed, is_member } }: Pick<Facts, 'project'>): ReadonlySet<string> => {
  if (!is_member) return allowed
  const known = held.get(allowed) ?? new Set([...allowed, ...keysOfBelonging])
  held.set(allowed, known)
  return known
}

export const boundOf = (service_account_id: string, { org_id, project_id }: AccountHome, held: ReadonlySet<string>) =>
  ({
    actor_type: 'service_account',
    actor_id: service_account_id,
    org_id,
    project_id,
    resources: [
      { type: 'project', id: project_id },
      { type: 'service_account', id: service_account_id },
    ],
    held,
  }) satisfies Bound

const serviceAccounts: CredentialClass<'service_account', AccountHome, Credential> = {
  type: 'service_account',
  findHome: homeOfAccount,
  nobodysHome: { org_id: nowhere, project_id: nowhere },
  wantCredential: ({ actor_id: owner_id, key_id, home: { org_id } }) => wantCredential({ owner_id, key_id, org_id }),
  endOf: (credential, standing) => {
    if (credential.account_state !== 'active') return `account_${credential.account_state}`
    // Where an organization or a project is gone, so is whatever lives in it.
    if (!standing || standing.tenant_state === null || standing.project_state === null) return 'home_gone'
    return null
  },
  placeOf: ({ actor_id: id, home: { org_id: tenant_id, project_id } }) => ({ id, tenant_id, project_id, relations: [] }),
  boundTo: ({ actor_id, home }, held) => boundOf(actor_id, home, held),
  bindingOf: ({ home: { org_id, project_id } }) => ({ org_id, project_id }),
  heldBy,
}

/** Whether a key of a service account opens. */
export const serviceAccountGate = (parts: GateParts, uses: LastUses) => {
  const { database } = parts
  const gate = credentialGate(parts, serviceAccounts)

  /** Where a token is issued, that is noted beside it. */
  const noteUse = async (credential_id: string, now: string): Promise<void> => {
    const used = uses.unnoted(now, [{ actor_type: 'service_account', credential_id }])
    if (used.of_accounts.length === 0) return
    uses.keep(used)
    await database.transaction('write', async (tx) => uses.write(tx, used))
  }

  return {
    verifier: gate.verifier,
    homeOf: gate.homeOf,
    /** Only whose the key is. */
    identify: async (caller: Caller, claimed: Claimed, prove: Prove): Promise<Actor> => {
      const { actor, now } = await gate.open(caller, claimed, prove)
      await noteUse(actor.credential_id, now)
      return actor
    },
  }
}
export type ServiceAccountGate = ReturnType<typeof serviceAccountGate>
