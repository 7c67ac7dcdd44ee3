import type { AllSentences } from '#rails/audit/sentences.ts'
import type { ActorClass } from '#rails/authz/actor-class.ts'
import type { AuditRow } from './audit-log-queries.ts'

type Told = Pick<
  AuditRow,
  'action' | 'actor_type' | 'actor_id' | 'actor_name' | 'resource_type' | 'resource_id' | 'result' | 'reason_code' | 'metadata'
>

/** Has a sentence of its own shape. */
const rejected = 'auth.token.reject'

const filled = (template: string, metadata: unknown): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = (metadata as Record<string, unknown> | null)?.[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : `(${name})`
  })

/** How rows are told: with what the rooms say of their actions, and of the classes of actors that they know. */
export const sentencesWith = (
  { done, updated, late, refused }: AllSentences,
  classes: Readonly<Record<string, Pick<ActorClass, 'told'>>>,
) => {
  const whoDid = ({ actor_type, actor_id, actor_name }: Told): string =>
    classes[actor_type]?.told(actor_id, actor_name) ?? `${actor_name ?? 'Somebody'} (${actor_type} ${actor_id})`

  const templateOf = ({ action, result, metadata }: Told): string | undefined => {
    const said = (metadata ?? {}) as { updated?: unknown; is_taken?: unknown; why?: unknown }
    if (result !== 'success') return said.why === undefined ? undefined : refused[action]
    return (said.updated === true ? updated[action] : undefined) ?? (said.is_taken === false ? late[action] : undefined) ?? done[action]
  }

  /** One row as a sentence. Names are as their owners wrote them; whoever shows them must treat them as text. */
  const sentenceOf = (row: Told): string => {
    const who = whoDid(row)
    const what = templateOf(row)
    const which = row.resource_id === null ? row.resource_type : `${row.resource_type} ${row.resource_id}`
    // Counted, not recorded one by one: there is nobody to name.
    if (row.action === rejected) return filled(`{count} requests were refused before anybody was known: ${row.reason_code}.`, row.metadata)
    if (what || row.result === 'success') return `${who} ${what ? filled(what, row.metadata) : `did ${row.action}`}: ${which}.`
    return `${who} was refused ${row.action} on ${which}: ${row.reason_code}.`
  }

  const toldActions: ReadonlySet<string> = new Set([...Object.keys(done), ...Object.keys(refused), rejected])
  return { sentenceOf, toldActions }
}

export type SentenceOf = ReturnType<typeof sentencesWith>['sentenceOf']
