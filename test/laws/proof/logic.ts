/** What formulas are made of. One formula is read by the prover, and, 32 assignments at a time, by ourselves. */
export interface Logic<B> {
  readonly yes: B
  readonly no: B
  and(...each: B[]): B
  or(...each: B[]): B
  not(one: B): B
}

/** A truth for each of 32 assignments. */
export const lanes: Logic<number> = {
  yes: -1,
  no: 0,
  and: (...each) => {
    let all = -1
    for (const one of each) all &= one
    return all
  },
  or: (...each) => {
    let any = 0
    for (const one of each) any |= one
    return any
  },
  not: (one) => ~one,
}

export const implies = <B>({ or, not }: Logic<B>, one: B, other: B): B => or(not(one), other)
export const same = <B>(logic: Logic<B>, one: B, other: B): B => logic.and(implies(logic, one, other), implies(logic, other, one))
export const choose = <B>({ and, or, not }: Logic<B>, asked: B, one: B, other: B): B => or(and(asked, one), and(not(asked), other))
/** At most one of them. */
export const notTwo = <B>({ and, not }: Logic<B>, each: readonly B[]): B =>
  and(...each.flatMap((one, at) => each.slice(at + 1).map((other) => not(and(one, other)))))
