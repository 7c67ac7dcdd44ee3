/** As package.json has it; the bundle has no such file beside it. */
export const agent_version = '0.1.0'
