import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import { tendKeys } from '../../server/src/machines/keys/tend-keys.ts'
import { type Asking, bearing, nodeBy, type Stage } from '../faults/recipes/recipe.ts'
import { type LiveServer, seeded, testKeys } from '../live-server.ts'

/** Something that changes around a thing before somebody ends it. */
export interface Disturbed {
  /** Puts back what only rests: there, nothing but reads is allowed meanwhile (DE-21). */
  readonly wake?: () => Promise<unknown>
  /** The thing has ended with it, so that ending it may be answered with a documented 404 or 409. */
  readonly is_ended?: true
}
/** Null where the thing rests on nothing of the kind; otherwise what makes the change. Looking changes nothing. */
type Disturbance = (asking: Asking) => Promise<(() => Promise<Disturbed>) | null>

const reason = 'a disturbance'
const ring = parseKeyRing(testKeys)
/** What counts only in the epoch that it was made in. */
const epochal = ['key_id', 'credential_id', 'grant_id', 'node_id', 'allocation_id']
const busy = new Set<string>(seeded.usernames.map((name) => seeded.user(name)))

/** Each changes the state of something that the thing in the asking rests on; null where there is no such thing. */
export const disturbancesOn = (live: LiveServer, { done }: Stage): Readonly<Record<string, Disturbance>> => {
  const projectOf = async ({ params, body }: Asking): Promise<string | null> => {
    if (params.project_id ?? body.project_id) return (params.project_id ?? body.project_id) as string
    if (params.allocation_id === undefined) return null
    return (await live.sql<{ id: string }>('select project_id as id from allocations where id = $1', [params.allocation_id]))[0]!.id
  }
  const organizationOf = async (asking: Asking): Promise<string | null> => {
    const project_id = await projectOf(asking)
    if (project_id === null) return asking.params.org_id ?? null
    return (await live.sql<{ id: string }>('select org_id as id from projects where id = $1', [project_id]))[0]!.id
  }
  /** The custom role of a binding, an invitation or an account, and as whom it is defined. */
  const roleOf = async ({ person, params }: Asking) => {
    const id = params.binding_id ?? params.invitation_id ?? params.service_account_id ?? params.role_id
    const [row] = await live.sql<{ role_id: string; project_id: string | null; tenant_id: string | null; version: number }>(
      `select d.id as role_id, d.project_id, d.tenant_id, v.version
         from role_definitions d join role_definition_versions v on v.id = d.current_version_id
        where not d.is_builtin and d.deleted_at is null and (d.id = $1 or d.id in (
          select role_definition_id from project_role_bindings where deleted_at is null and $1 in (id, principal_id)
          union select role_definition_id from tenant_role_bindings where deleted_at is null and id = $1
          union select v.role_definition_id from invitations i join role_definition_versions v on v.id = i.role_version_id where i.id = $1))`,
      [id ?? null],
    )
    if (!row) return null
    const { role_id, project_id, tenant_id, version } = row
    const there = project_id === null ? { org_id: tenant_id! } : { project_id }
    return { scope: project_id === null ? 'organization' : 'project', version, asking: { person, params: { ...there, role_id } } }
  }
  const onRole =
    (operation: string, body: object, is_ended = (_: Asking) => false): Disturbance =>
    async (asking) => {
      const role = await roleOf(asking)
      if (!role || (operation === 'role.update' && role.scope !== 'project')) return null
      return async () => {
        // Of now: another disturbance may have made a version since.
        const versioned = operation === 'role.update' ? { expected_version: (await roleOf(asking))?.version ?? role.version } : {}
        await done(`${operation}_of_${role.scope}`, { ...role.asking, body: { reason, ...versioned, ...body } })
        return is_ended(asking) ? { is_ended: true } : {}
      }
    }
  const onPart =
    (param: string, operation: string, more: Disturbed = {}): Disturbance =>
    async ({ person, params }) => {
      if (params[param] === undefined || Object.keys(params).length < 2) return null
      const own = Object.fromEntries(
        Object.entries(params).filter(([name]) => name === param || name === 'org_id' || name === 'project_id'),
      )
      return async () => {
        await done(operation, { person, params: own, body: { reason } })
        return more
      }
    }

  /** Where a thing that ends by itself keeps its end. */
  const times: Readonly<Record<string, readonly [tables: readonly string[], column: string]>> = {
    binding_id: [['project_role_bindings', 'tenant_role_bindings'], 'expires_at'],
    invitation_id: [['invitations'], 'ends_at'],
    key_id: [['service_account_keys'], 'expires_at'],
    credential_id: [['shared_runtime_operator_credentials'], 'expires_at'],
    grant_id: [['allocation_access_grants'], 'expires_at'],
  }

  return {
    nothing: async () => async () => ({}),
    'its project is archived': async (asking) => {
      const project_id = await projectOf(asking)
      if (project_id === null) return null
      const there = { person: 'alice', params: { project_id }, body: { reason } }
      return async () => {
        await done('project.archive', there)
        return { wake: () => done('project.restore', there) }
      }
    },
    'its organization is suspended': async (asking) => {
      const org_id = await organizationOf(asking)
      if (org_id === null) return null
      const there = { person: 'ada', params: { org_id }, body: { reason } }
      return async () => {
        await done('organization.suspend', there)
        return { wake: () => done('organization.resume', there) }
      }
    },
    'its time is over': async ({ params }) => {
      const [name] = Object.keys(times).filter((each) => params[each] !== undefined)
      if (name === undefined) return null
      const [tables, column] = times[name]!
      const found: string[] = []
      for (const table of tables) if ((await live.sql(`select from ${table} where id = $1`, [params[name]])).length > 0) found.push(table)
      if (found.length === 0) return null
      return async () => {
        // Nobody waits here until then. An owner has no end, which the table says.
        await live.sql(`update ${found[0]} set ${column} = now() - interval '1 second' where id = $1`, [params[name]])
        return { is_ended: true }
      }
    },
    'a restore was accepted since': async ({ person, params }) => {
      const isMachine = person.startsWith(bearing) || person.startsWith(nodeBy)
      if (isMachine || !epochal.some((name) => params[name] !== undefined)) return null
      return async () => {
        await live.sql('update installation set epoch = epoch + 1')
        // As a server does when it starts on the database.
        await tendKeys({ database: live.database, append: live.append, ring, transit: null, algorithm: 'ES256' })
        await live.tasking.tendSigners()
        return {}
      }
    },
    'its role is disabled': onRole('role.disable', { mode: 'block_all_now' }),
    'its role is being phased out': async (asking) => {
      const phaseOut = await onRole('role.disable', { mode: 'block_new_only' })(asking)
      if (!phaseOut) return null
      return async () => {
        // A policy says how long that takes; another case may have ended its value since.
        await live.sql(
          `insert into policy_values (id, key, scope_type, value, version, created_at)
           select gen_random_uuid(), $1, 'global', '3600', 1 + coalesce(max(version), 0), now() from policy_values where key = $1 and scope_type = 'global'
           having count(*) filter (where replaced_at is null) = 0`,
          ['authorization.role_disable_grace_window_seconds'],
        )
        return phaseOut()
      }
    },
    'its role is deleted': onRole('role.delete', {}, ({ params }) => params.invitation_id !== undefined || params.binding_id === undefined),
    'its role has another version': onRole('role.update', { permissions: ['storage.read'] }),
    'its role is no longer for accounts': onRole('role.update', { is_assignable_to_service_accounts: false }),
    'its account is disabled': onPart('service_account_id', 'service_account.disable'),
    'its account is deleted': async (asking) =>
      asking.params.key_id === undefined ? null : onPart('service_account_id', 'service_account.delete', { is_ended: true })(asking),
    'its runtime is disabled': onPart('shared_runtime_id', 'shared_runtime.disable'),
    'its runtime is deleted': async (asking) =>
      Object.keys(asking.params).length < 3 ? null : onPart('shared_runtime_id', 'shared_runtime.delete', { is_ended: true })(asking),
    'its allocation is released': async ({ person, params }) => {
      if (params.grant_id === undefined) return null
      return async () => {
        await done('allocation.release', { person, params: { allocation_id: params.allocation_id! }, body: { reason } })
        return { is_ended: true }
      }
    },
    'its node is drained': async ({ params }) => {
      const { node_id } = params
      if (node_id === undefined) return null
      return async () => {
        await done('node.drain', { person: 'ada', params: { node_id }, body: { reason } })
        return {}
      }
    },
    'its person is disabled': async ({ params }) => {
      const holder = `select principal_id as id from project_role_bindings where id = $1 union select grantee_user_id from allocation_access_grants where id = $2`
      const [held] = await live.sql<{ id: string }>(holder, [params.binding_id ?? null, params.grant_id ?? null])
      const user_id = params.user_id ?? held?.id
      if (user_id === undefined || busy.has(user_id)) return null
      if ((await live.sql('select from users where id = $1', [user_id])).length === 0) return null
      return async () => {
        await done('user.disable', { person: 'ada', params: { user_id }, body: { reason } })
        return { ...(params.grant_id === undefined ? {} : { is_ended: true as const }) }
      }
    },
  }
}
