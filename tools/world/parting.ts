// One press of Ctrl-C arrives several times: from the terminal, and from npm and the launcher passing it on.
const samePressMilliseconds = 1000

type Parting = { onFirst: () => void; onSecond: () => void }

/** Calls `onFirst` when we are told to stop, or are left alone, and `onSecond` when somebody insists. */
export const onParting = ({ onFirst, onSecond }: Parting): void => {
  let firstAt: number | undefined
  const told = () => {
    if (firstAt === undefined) {
      firstAt = Date.now()
      onFirst()
    } else if (Date.now() - firstAt > samePressMilliseconds) onSecond()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, told)
  // A closed terminal must not turn the farewell into a crash.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

  const launcher = Number(process.env.LAUNCHER_PID)
  if (launcher !== process.ppid) return
  const timer = setInterval(() => {
    if (process.ppid === launcher) return
    clearInterval(timer)
    told()
  }, 300)
  timer.unref()
}
