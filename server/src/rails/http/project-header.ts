import { Problem } from '#ground/kernel/problem.ts'
import { wantedId } from './validation.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

const refuse = (message: string) => new Problem('validation_error', [{ in: 'header', field: 'x-project-id', message }])

/** The project that `X-Project-ID` names. */
export const projectNamedBy = (header: string | string[] | undefined): string | undefined => {
  if (header === undefined) return undefined
  if (typeof header !== 'string' || !uuid.test(header.toLowerCase())) throw refuse(wantedId)
  return header.toLowerCase()
}

/** It names the project where the request does not; where the request does, both must say the same. */
export const requireAgreement = (named: string | undefined, { project_id }: { readonly project_id?: string }): void => {
  if (named !== undefined && project_id !== undefined && project_id !== named) throw refuse('must agree with the request')
}
