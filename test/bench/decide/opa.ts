import { createHash } from 'node:crypto'
import type { Engine } from './engine.ts'
import { fromPeers, peerFile } from './peers.ts'
import { permissionsByRole, type Question } from './questions.ts'
import { byPerson } from './store.ts'

interface Policy {
  setData(data: object): void
  evaluate(input: object, entrypoint: string): { result: boolean }[]
}
interface OpaWasm {
  loadPolicy(wasm: Buffer, memory: { initial: number; maximum: number }): Promise<Policy>
}

const compiled = (): Buffer => {
  const [from] = peerFile('roles.wasm.from').toString().split(' ')
  if (createHash('sha256').update(peerFile('roles.rego')).digest('hex') !== from)
    throw new Error('roles.wasm was not compiled from roles.rego as it is now; docs/benchmarks.md says how')
  return peerFile('roles.wasm')
}
const load = async (): Promise<Policy> =>
  (await fromPeers<OpaWasm>('@open-policy-agent/opa-wasm')).loadPolicy(compiled(), { initial: 20, maximum: 2000 })

const permissions = Object.fromEntries(
  Object.entries(permissionsByRole).map(([role, keys]) => [role, Object.fromEntries(keys.map((key) => [key, true]))]),
)
const inputOf = ({ user_id: user, action, tenant_id: tenant, project_id: project }: Question) => ({ user, action, tenant, project })
const nothing = new Map<string, string[]>()

export const opa: Engine = {
  name: 'opa-wasm',
  prepare: async (store) => {
    const policy = await load()
    const bindings = Object.fromEntries([...byPerson(await store.everyRole())].map(([id, scopes]) => [id, Object.fromEntries(scopes)]))
    policy.setData({ permissions, bindings })
    return (question) => policy.evaluate(inputOf(question), 'bench/known')[0]!.result
  },
  // What was read goes along in the input: to replace the data of the policy would be far dearer.
  cold: async (store) => {
    const policy = await load()
    policy.setData({ permissions })
    return async (question) => {
      const bindings = Object.fromEntries(byPerson(await store.rolesFor(question)).get(question.user_id) ?? nothing)
      return policy.evaluate({ ...inputOf(question), bindings }, 'bench/told')[0]!.result
    }
  },
}
