import { propagation, trace } from '@opentelemetry/api'
import type { NodeTracerConfig } from '@opentelemetry/sdk-trace-node'

export interface TracingSettings {
  /** The base address of an OTLP/HTTP collector. */
  readonly endpoint: string
  readonly service_name?: string
}

/** Sends what is left and stops; gives up rather than hold a stopping process. */
export type StopTracing = () => Promise<void>

const patienceMs = 3000

const resourceNamed = (name: string): NonNullable<NodeTracerConfig['resource']> => {
  const attributes = { 'service.name': name }
  const resource: NonNullable<NodeTracerConfig['resource']> = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  }
  return resource
}

/**
 * Without an address nothing is loaded and every span costs next to nothing. Further OTEL_ settings (headers, sampler, batch sizes)
 * are read by the library, under their standard names.
 */
export const startTracing = async (settings: TracingSettings | null): Promise<StopTracing> => {
  if (settings === null) return async () => {}
  const [{ BatchSpanProcessor, NodeTracerProvider }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  const url = `${settings.endpoint.replace(/\/$/, '')}/v1/traces`
  const provider = new NodeTracerProvider({
    resource: resourceNamed(settings.service_name ?? 'gatehouse'),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url, timeoutMillis: patienceMs }))],
  })
  // Spans are handed on explicitly, so nothing need follow every asynchronous step.
  provider.register({ contextManager: null })
  return async () => {
    const giveUp = new Promise<void>((resolve) => setTimeout(resolve, patienceMs).unref())
    await Promise.race([provider.shutdown().catch(() => {}), giveUp])
    trace.disable()
    propagation.disable()
  }
}
