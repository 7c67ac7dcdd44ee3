/** Mutants that no test fails for, with the reason why that is so: `file: what stood there => what the mutant says`. */
export const survivors: readonly { readonly why: string; readonly mutants: readonly string[] }[] = []
