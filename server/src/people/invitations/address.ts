import { Problem } from '#ground/kernel/problem.ts'

/**
 * The one spelling under which an address is kept and compared; the body it came in is composed (NFC) already. Only ASCII has capitals here:
 * beyond it systems disagree about the small letter of a capital, and such a letter may be that of another person's address.
 */
export const settleAddress = (given: string): string => {
  const settled = given.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  if (settled.toLowerCase() !== settled)
    throw new Problem('validation_error', [{ in: 'body', field: 'email', message: 'must have no capital letters beyond ASCII' }])
  return settled
}
