/**
 * Processor time that this thread spends in `act`, in milliseconds. A bound on it says that something is cheap; other load on the machine, which
 * makes everything take longer, is no part of it.
 */
export const processorMs = (act: () => unknown): number => {
  const before = process.threadCpuUsage()
  act()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
