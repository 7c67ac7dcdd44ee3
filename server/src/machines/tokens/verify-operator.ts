import { wantOperatorKey } from '#runtimes/operator-credentials/operator-credential.ts'
import { homeOfRuntime, type OperatorKey } from '#runtimes/operator-credentials/operator-credential-queries.ts'
import { type CredentialClass, type Home, nowhere } from './credential-class.ts'
import { credentialGate, type GateParts } from './credential-gate.ts'

/** A runtime lives in a tenant, and in no project. */
interface RuntimeHome extends Home {
  readonly project_id: null
}

const operators: CredentialClass<'shared_runtime_operator', RuntimeHome, OperatorKey> = {
  type: 'shared_runtime_operator',
  findHome: homeOfRuntime,
  nobodysHome: { org_id: nowhere, project_id: null },
  wantCredential: ({ actor_id: owner_id, key_id, home: { org_id } }) => wantOperatorKey({ owner_id, key_id, org_id }),
  endOf: ({ runtime_state: state }, standing) => {
    if (state === 'disabled' || state === 'deleted') return `runtime_${state}`
    return !standing || standing.tenant_state === null ? 'home_gone' : null
  },
  placeOf: ({ actor_id: id, home: { org_id: tenant_id } }) => ({ id, tenant_id, project_id: null, shared_runtime_id: id, relations: [] }),
  boundTo: ({ actor_id: id, home: { org_id } }, held) => ({
    actor_type: 'shared_runtime_operator',
    actor_id: id,
    org_id,
    project_id: null,
    resources: [{ type: 'shared_runtime', id }],
    held,
  }),
  bindingOf: ({ actor_id: shared_runtime_id, home: { org_id } }) => ({ org_id, shared_runtime_id }),
  // What its tenant has delegated to it is among these.
  heldBy: ({ tenant: { allowed } }) => allowed,
}

/** Whether a credential of a runtime's operator opens. */
export const operatorGate = (parts: GateParts) => credentialGate(parts, operators)
