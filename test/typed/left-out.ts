/** A shell block that is not typed: how it begins, and why. An entry that fits no block fails the test. */
interface LeftOut {
  readonly document: string
  readonly begins: string
  readonly because: string
}

const onAnotherMachine = 'It is typed on a GPU machine with systemd, and changes its sshd: the stories of test/box do that.'
const noVault = 'There is no Vault or OpenBao here.'
const inProduction =
  'It names a database and a provider of somebody’s own; the test of the first hour types the same with a production profile.'

export const leftOut: readonly LeftOut[] = [
  { document: 'README.md', begins: 'npm start', because: 'The world is up already, and the suite cannot run itself.' },
  { document: 'README.md', begins: "DATABASE_URL='postgresql", because: inProduction },
  {
    document: 'CONTRIBUTING.md',
    begins: 'npm test',
    because: 'The suite cannot run itself; `npm run dev` and `npm start` have tests of their own.',
  },
  { document: 'CONTRIBUTING.md', begins: 'psql', because: 'psql is a client of the database, which a machine need not have.' },
  {
    document: 'CONTRIBUTING.md',
    begins: 'npm run spans',
    because: 'It runs in a terminal of its own until it is stopped, and the server is started again; a test of `spans` does both.',
  },
  { document: 'docs/guides/production.md', begins: 'export DATABASE_URL', because: inProduction },
  { document: 'docs/guides/production.md', begins: '(umask 077; echo "k1:', because: inProduction },
  { document: 'docs/guides/production.md', begins: 'scripts/ops/bind_platform_role.sh', because: inProduction },
  { document: 'docs/guides/node-agent.md', begins: 'npm run bundle:agent', because: onAnotherMachine },
  { document: 'docs/guides/node-agent.md', begins: 'install -D', because: onAnotherMachine },
  { document: 'docs/guides/node-agent.md', begins: 'umask 077', because: onAnotherMachine },
  { document: 'docs/guides/node-agent.md', begins: 'getent group', because: onAnotherMachine },
  { document: 'docs/guides/node-agent.md', begins: 'systemctl stop', because: onAnotherMachine },
  { document: 'docs/guides/signing-keys.md', begins: 'vault secrets', because: noVault },
]
