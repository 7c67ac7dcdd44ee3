import type { Histogram, Registry } from '@prometheus-io/client'

interface Series {
  /** How many fell into each bucket, and last how many into none. */
  readonly counts: number[]
  sum: number
}

interface Described {
  readonly name: string
  readonly help: string
  readonly label: string
  readonly bounds: readonly number[]
}

/**
 * A histogram that is counted in plain tables and told when somebody looks: the library would look for the place of each value anew. The
 * label's values come from a closed list.
 */
export const bucketed = (register: Registry, { name, help, label, bounds }: Described) => {
  const known = new Map<string, Series>()

  const told = (of: string, { counts, sum }: Series) => {
    let count = 0
    const buckets = counts.map((each, index) => {
      count += each
      return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf', [label]: of }, value: count }
    })
    const labels = { [label]: of }
    return [...buckets, { metricName: `${name}_sum`, labels, value: sum }, { metricName: `${name}_count`, labels, value: count }]
  }

  const metric = {
    name,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: [...known].flatMap(([of, series]) => told(of, series)) }),
  }
  // The library asks nothing else of what it only has to tell.
  register.registerMetric(metric as unknown as Histogram)

  return (of: string, value: number): void => {
    let series = known.get(of)
    if (!series) {
      series = { counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }
      known.set(of, series)
    }
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket += 1
    series.counts[bucket]! += 1
    series.sum += value
  }
}
