import type { PlatformRoleSource } from './rows.ts'
import { type Draft, now } from './sentence-draft.ts'
import type { Sentence } from './sentences.ts'

const asked = (d: Draft, action: string, column: 'admin' | 'user') => {
  d.asks(action)
  d.rows.users[0]!.role = column
}
const wasBound = (d: Draft, name: string) => {
  d.platformRole(name)
  d.rows.platform_role_bindings[0]!.deleted_at = now
}

/** Sentences about each source of platform roles. The source is a policy value, so it holds for everybody at once. */
export const sentencesBySource: Record<PlatformRoleSource, Sentence[]> = {
  bindings: [['the old column is not heard', 'permission_denied tenant in_code', (d) => asked(d, 'tenant.update', 'admin')]],
  users_role: [
    ['an administrator is a superadmin', 'allow global in_code', (d) => asked(d, 'tenant.update', 'admin')],
    ['an administrator reaches no shell', 'permission_denied project in_code', (d) => asked(d, 'terminal.connect', 'admin')],
    [
      'an administrator who was revoked is one',
      'allow global in_code',
      (d) => {
        asked(d, 'tenant.update', 'admin')
        wasBound(d, 'platform_superadmin')
      },
    ],
    [
      'a superadmin by binding is none',
      'permission_denied tenant in_code',
      (d) => {
        asked(d, 'tenant.update', 'user')
        d.platformRole('platform_superadmin')
      },
    ],
    [
      'nobody is of operations',
      'permission_denied global in_code',
      (d) => {
        asked(d, 'platform.ops.read', 'user')
        d.platformRole('platform_ops')
      },
    ],
  ],
  transition: [
    ['an administrator who was never bound is a superadmin', 'allow global in_code', (d) => asked(d, 'tenant.update', 'admin')],
    [
      'an administrator who was ever bound is judged by bindings',
      'permission_denied tenant in_code',
      (d) => {
        asked(d, 'tenant.update', 'admin')
        wasBound(d, 'platform_user')
      },
    ],
    [
      'an administrator who is of operations is that alone',
      'permission_denied tenant in_code',
      (d) => {
        asked(d, 'tenant.update', 'admin')
        d.platformRole('platform_ops')
      },
    ],
    [
      'who is bound is heard',
      'allow global in_code',
      (d) => {
        asked(d, 'platform.ops.read', 'user')
        d.platformRole('platform_ops')
      },
    ],
  ],
}
