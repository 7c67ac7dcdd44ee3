/** A noun of the record, as the room declares it that owns its table. */
export interface Noun {
  /** What the record calls it. */
  readonly type: string
  readonly table: string
  /** The parameter of a path that names one. */
  readonly id_param: string
  /** Where two nouns share a parameter: the other parameter, with which it stands in a path. */
  readonly under?: string
  /** Where what was judged says by this that it lies in one, or is one. */
  readonly place?: 'tenant_id' | 'project_id' | 'shared_runtime_id'
}
