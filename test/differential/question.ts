/** What is asked in the differential test, and what both sides answer. */

export interface Token {
  tenant_id: string | null
  project_id: string | null
  /** Of an operator's. */
  shared_runtime_id?: string | null
  /** Null: no list, so every action. */
  actions: string[] | null
}

export interface Elevation {
  id: string
  scope: 'global' | 'tenant' | 'project'
  tenant_id: string | null
  project_id: string | null
  actions: string[]
  starts_at: string
  ends_at: string
}

/** How a person can stand to a resource, besides being it himself. */
export type Relation = 'invitee' | 'allocation_owner' | 'grantee'

export interface Question {
  id: number
  /** A person, where nothing is said. */
  actor_type?: 'user' | 'service_account' | 'shared_runtime_operator'
  actor_id: string
  action: string
  resource_type: string
  resource_id: string | null
  tenant_id: string | null
  project_id: string | null
  /** Of the actor to the resource; none, where nothing is said. */
  relations?: Relation[]
  /** Region, sku, gpus, flags, source_ip and time; any of them may be anything, or not there. */
  attributes: Record<string, unknown>
  token: Token | null
  elevations: Elevation[]
  now: string
}

export interface Verdict {
  decision: 'allow' | 'deny'
  reason_code: string | null
  applied_scope: string
  policy_source: string
  break_glass_id: string | null
}
