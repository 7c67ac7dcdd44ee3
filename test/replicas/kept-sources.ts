import { readQuestions } from '../../server/src/desk/decisions/question.ts'
import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import type { FreshReader, Source, Wanted } from '../../server/src/ground/epochs/fresh.ts'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { keySetSource } from '../../server/src/machines/keys/key-set.ts'
import { wantCredential } from '../../server/src/machines/service-accounts/credential.ts'
import { wantToken } from '../../server/src/machines/tokens/live-token.ts'
import { identifyPerson } from '../../server/src/people/principals/identify-person.ts'
import { standings, wantStanding } from '../../server/src/rails/authz/read-standings.ts'
import { constraintChains } from '../../server/src/rails/policies/constraint-chain.ts'
import { readPolicyFresh } from '../../server/src/rails/policies/read-policy.ts'
import { wantOperatorKey } from '../../server/src/runtimes/operator-credentials/operator-credential.ts'
import { filesUnder, textOf } from '../house/tree.ts'
import { testKeys } from '../live-server.ts'

type AnySource = Source<unknown, unknown>

/** Lets somebody read, and says from which source he wanted to. */
const sourceOf = async (reading: (fresh: FreshReader) => Promise<unknown>): Promise<AnySource> => {
  const seen: Wanted<unknown>[] = []
  const fresh: FreshReader = {
    limit_ms: 1000,
    read: async (wanted) => {
      seen.push(...wanted)
      return { moment: { now: '', epochs: new Map() }, values: wanted.map(() => undefined) as never }
    },
  }
  // Nothing is found, and not everybody bears that; what was wanted is known by then.
  await reading(fresh).catch(() => {})
  return seen[0]!.source as unknown as AnySource
}

const caller = { type: 'user', id: newId('user') } as const
const question = { action: 'project.read', resource: { type: 'project', id: newId('project') } } as never
const tokens = { validate: async () => ({ issuer: 'i', subject: 's' }) } as never

/** All that a process keeps, by its name. */
export const keptSources = async () => {
  const nobody = {} as never
  return {
    standing: standings as unknown as AnySource,
    rules: constraintChains as unknown as AnySource,
    policy: await sourceOf((fresh) => readPolicyFresh(fresh, 'rate_limit.api_requests_per_minute')),
    'known place': await sourceOf((fresh) => readQuestions(fresh, caller, [question], () => '')),
    'service account standing': wantStanding('service_account', { actor_id: '', tenant_id: null, project_id: null })
      .source as unknown as AnySource,
    'operator standing': wantStanding('shared_runtime_operator', { actor_id: '', tenant_id: null, project_id: null })
      .source as unknown as AnySource,
    'service account key': wantCredential({ owner_id: '', key_id: '', org_id: '' }).source as unknown as AnySource,
    'operator credential': wantOperatorKey({ owner_id: '', key_id: '', org_id: '' }).source as unknown as AnySource,
    'signing keys': keySetSource(parseKeyRing(testKeys))().source as unknown as AnySource,
    'issued token': wantToken({ jti: '', org_id: '' } as never).source as unknown as AnySource,
    person: await sourceOf((fresh) =>
      identifyPerson(tokens, nobody, nobody, nobody)('', { correlation_id: '', fresh, identified: nobody }),
    ),
  }
}

/** How many the server declares: one that is not in the list above shows here. */
export const declaredSources = (): number =>
  filesUnder('server/src').flatMap((path) => [...textOf(path).matchAll(/^ *(?:export )?const \w+: Source</gm)]).length
