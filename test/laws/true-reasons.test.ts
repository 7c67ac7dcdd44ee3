import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Decision, decide } from '../../server/src/rails/authz/decide.ts'
import { type Engine, laws } from './decision-laws.ts'

const saying = (reason_code: Decision['reason_code'], isSaid: (...asked: Parameters<Engine>) => boolean): Engine => {
  return (action, input) => {
    const decision = decide(action, input)
    return decision.decision === 'deny' && isSaid(action, input) ? { ...decision, reason_code } : decision
  }
}

/** Engines whose reason is nearly true: what it speaks of is there and has nothing to do with the matter. */
const nearly: Record<string, Engine> = {
  'calls every denial of a token’s bearer a matter of his token': saying('scope_mismatch', (_, { token }) => token !== null),
  'blames a rule wherever there is one': saying('policy_constraint_denied', (_, { constraints }) => constraints.length > 0),
  'blames what is suspended for reads too': saying('policy_constraint_denied', (_, { tenant }) => tenant.is_suspended),
  'blames a disabled role wherever there is one': saying('role_disabled', (_, { project }) => project.by_disabled.size > 0),
  'allows what a rule denies': (action, input) => decide(action, { ...input, constraints: [] }),
  'allows what a token does not reach': (action, input) => decide(action, { ...input, token: null }),
  'allows in what is suspended': (action, input) => decide(action, { ...input, tenant: { ...input.tenant, is_suspended: false } }),
}

describe('D2(l) a reason must be true of the question, and not only of its world', () => {
  test.each(Object.entries(nearly))('DE-03 the law notices an engine that %s', (_, engine) => {
    const { failed, errorInstance } = fc.check(laws.l!.of(engine), { numRuns: 20_000, seed: 1 })
    expect({ failed, because: `${errorInstance}` }).toEqual({ failed: true, because: expect.stringContaining('returning false') })
  })
})
