import type { AuditEvent } from '#ground/work/work.ts'

/** `gpuaas:{region}:{tenant}:{project or -}:{service}/{kind}:{id}`: for people and logs, made here, never a key. */
export const resourceName = (
  region: string,
  { resource_type, resource_id, tenant_id, project_id }: Pick<AuditEvent, 'resource_type' | 'resource_id' | 'tenant_id' | 'project_id'>,
): string | null =>
  resource_id === null ? null : `gpuaas:${region}:${tenant_id ?? '-'}:${project_id ?? '-'}:iam/${resource_type}:${resource_id}`
