import type { Layout } from './layout.ts'

const ours = /# gatehouse-agent: begin\n[\s\S]*?# gatehouse-agent: end\n/g
const setsEnvironment = /^[ \t]*-?session\b.*\bpam_env\.so\b/m

/**
 * For other accounts the hook is skipped, not run: whatever becomes of it, the node's own people get in. When a session closes the hook is
 * not run: its environment would be what the account wrote down at home, and the hook is root's.
 */
const linesFor = ({ group, hook }: Layout): string =>
  [
    '# gatehouse-agent: begin',
    `session [success=ignore default=1] pam_succeed_if.so quiet user ingroup ${group}`,
    `session required pam_exec.so quiet type=open_session ${hook}`,
    '# gatehouse-agent: end',
    '',
  ].join('\n')

export const withoutHook = (pam: string): string => pam.replace(ours, '')

/**
 * The file with the hook in it. It stands before whatever reads an environment that users can write (`~/.pam_environment`): from there on
 * they would choose what the hook runs. And as late as that allows: what else moves a session into a group of its own comes before it.
 */
export const withHook = (pam: string, layout: Layout): string => {
  const plain = withoutHook(pam).replace(/\n*$/, '\n')
  const at = setsEnvironment.exec(plain)?.index ?? plain.length
  return plain.slice(0, at) + linesFor(layout) + plain.slice(at)
}

/** Whether something before the hook takes the word of users for what its environment is. */
export const trustsUsersBefore = (pam: string): boolean => {
  const at = setsEnvironment.exec(pam)?.index ?? pam.length
  return pam
    .slice(0, at)
    .split('\n')
    .some((line) => !/^\s*#/.test(line) && line.includes('user_readenv=1'))
}
