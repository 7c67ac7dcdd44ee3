import { Problem } from '../kernel/problem.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** `X-Project-ID` names the project where the path does not; where the path does, both must say the same. */
export const requireAgreement = (header: string | string[] | undefined, params: Record<string, string>): void => {
  if (header === undefined) return
  const refuse = (message: string) => new Problem('validation_error', [{ in: 'header', field: 'x-project-id', message }])
  if (typeof header !== 'string' || !uuid.test(header.toLowerCase())) throw refuse('must be a UUID')
  if (params.project_id !== undefined && params.project_id !== header.toLowerCase()) throw refuse('must agree with the path')
}
