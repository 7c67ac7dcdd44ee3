/** Every refusal the product can utter: its HTTP status and what it says to the caller. Nothing else decides a status. */
const entry = (status: number, message: string) => ({ status, message })

export const problems = {
  validation_error: entry(400, 'The request does not fit its schema; details name each field.'),
  invalid_request: entry(400, 'The request cannot be understood.'),
  cursor_invalid: entry(400, 'The cursor was not made for this caller and this query.'),
  policy_out_of_bounds: entry(400, 'The value lies outside the bounds of its policy definition.'),
  token_missing: entry(401, 'A bearer token is required.'),
  token_invalid: entry(401, 'The bearer token is not valid.'),
  token_expired: entry(401, 'The bearer token has expired.'),
  insufficient_permissions: entry(403, 'You are not allowed to do this.'),
  route_not_found: entry(404, 'There is no such route.'),
  organization_not_found: entry(404, 'There is no such organization.'),
  project_not_found: entry(404, 'There is no such project.'),
  user_not_found: entry(404, 'There is no such user.'),
  member_not_found: entry(404, 'There is no such member.'),
  role_not_found: entry(404, 'There is no such role.'),
  request_timeout: entry(408, 'The request took too long to arrive.'),
  organization_already_exists: entry(409, 'An organization with this slug exists already.'),
  project_already_exists: entry(409, 'A project with this slug exists already in this organization.'),
  member_already_exists: entry(409, 'This person is a member already.'),
  last_owner: entry(409, 'The last owner cannot be removed or disabled.'),
  not_tenant_member: entry(409, 'This person is not a member of the organization that owns the project.'),
  role_not_assignable: entry(409, 'This role cannot be assigned.'),
  state_conflict: entry(409, 'The resource is not in a state that allows this.'),
  credential_already_issued: entry(409, 'This idempotency key has issued its credential already; the secret is never shown twice.'),
  idempotency_in_progress: entry(409, 'A request with this idempotency key is still running.'),
  body_too_large: entry(413, 'The body is larger than 256 KiB.'),
  unsupported_media_type: entry(415, 'The body must be application/json in UTF-8, not compressed.'),
  idempotency_key_reused: entry(422, 'This idempotency key was used with another request.'),
  headers_too_large: entry(431, 'The request headers are too large.'),
  rate_limit_exceeded: entry(429, 'Too many requests; see Retry-After.'),
  internal_error: entry(500, 'Something went wrong here; the correlation id finds it in our log.'),
  policy_unavailable: entry(503, 'A policy value that this request needs is missing or unreadable.'),
  dependency_unavailable: entry(503, 'Something this server depends on does not answer; try again shortly.'),
} as const

export type ProblemCode = keyof typeof problems
