/** The first few one by one, then each time that there are twice as many: a storm leaves a few rows, and each says how many there were. */
export const isWorthARow = (count: number): boolean => count <= 8 || Number.isInteger(Math.log2(count))
