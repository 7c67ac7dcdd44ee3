/** Lets many through at once, or one alone. Whoever wants to be alone waits for those inside, and those who come after wait for it. */
export const turnstile = () => {
  let inside = 0
  let isTaken = false
  let waiting: { isAlone: boolean; enter: () => void }[] = []
  const mayEnter = (isAlone: boolean) => !isTaken && (!isAlone || inside === 0)
  const letIn = () => {
    while (waiting[0] && mayEnter(waiting[0].isAlone)) {
      const [{ isAlone, enter }, ...others] = waiting as [(typeof waiting)[0], ...typeof waiting]
      waiting = others
      if (isAlone) isTaken = true
      else inside += 1
      enter()
    }
  }
  return async <T>(isAlone: boolean, within: () => Promise<T>): Promise<T> => {
    const entered = new Promise<void>((enter) => waiting.push({ isAlone, enter }))
    letIn()
    await entered
    try {
      return await within()
    } finally {
      if (isAlone) isTaken = false
      else inside -= 1
      letIn()
    }
  }
}
