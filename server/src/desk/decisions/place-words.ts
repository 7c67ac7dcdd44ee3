/** How an explanation speaks of scopes and of tiers. */
export const scopeWords = { global: 'the platform', tenant: 'the organization', project: 'the project' } as const
export const tierWords = { platform: 'the platform', tenant: 'the organization', project: 'the project' } as const
