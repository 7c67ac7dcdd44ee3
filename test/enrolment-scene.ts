import { doorCaller, nodeKeys, pemOf, type Told } from './enrolled-node.ts'

export const enrol = '/internal/v1/nodes/enroll'
export const nodes = '/api/v1/admin/nodes'
export const because = { body: { reason: 'because' } }
export const renewing = (id: string) => `/internal/v1/nodes/${id}/certificate`

/** Asks the door without a certificate. */
export const asStranger = async (url: string, ca: string, body: unknown, path = enrol): Promise<Told> => {
  const { call, stop } = doorCaller(url, { ca })
  try {
    return await call('POST', path, body)
  } finally {
    stop()
  }
}
export const enrolling = async (node: { url: string; ca: string; token: string }, token = node.token) =>
  asStranger(node.url, pemOf(node.ca), { enrolment_token: token, csr: (await nodeKeys()).csr })
/** All that is said, but for the id of the request. */
export const saidIn = ({ status, body }: Told) => ({ status, ...body, correlation_id: null })
