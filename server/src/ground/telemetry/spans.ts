import { ProxyTracerProvider, propagation, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

export interface RequestSpan {
  /** Of the trace, for the log line; undefined where nobody collects traces. */
  readonly trace_id: string | undefined
  /** A named part of the request. */
  within<T>(name: string, part: () => Promise<T>): Promise<T>
  end(outcome: { readonly status: number; readonly code: string | undefined; readonly actor_type: string | undefined }): void
}

interface Begun {
  readonly operation: string
  readonly method: string
  readonly route: string
  readonly correlation_id: string
  /** The caller's, if it sent one. Its other trace headers are free text and are not taken over. */
  readonly traceparent: string | undefined
}

const tracer = () => trace.getTracer('gatehouse')

// An exception's message may hold anything, so a span says that something failed and the log says what.
const failed = (span: Span) => span.setStatus({ code: SpanStatusCode.ERROR })

/** Whether anybody collects traces: without a provider of its own the library would make spans that nobody sees. */
const isCollected = (): boolean => {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('gatehouse') !== undefined
}

const unseen: RequestSpan = { trace_id: undefined, within: (_name, part) => part(), end: () => {} }

export const beginRequestSpan = ({ operation, method, route, correlation_id, traceparent }: Begun): RequestSpan => {
  if (!isCollected()) return unseen
  const parent = traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent })
  const attributes = {
    'http.request.method': method,
    'http.route': route,
    'gatehouse.operation': operation,
    'gatehouse.correlation_id': correlation_id,
  }
  const span = tracer().startSpan(operation, { kind: SpanKind.SERVER, attributes }, parent)
  const inside = trace.setSpan(parent, span)
  return {
    trace_id: span.isRecording() ? span.spanContext().traceId : undefined,
    within: async (name, part) => {
      const child = tracer().startSpan(name, { attributes: { 'gatehouse.correlation_id': correlation_id } }, inside)
      try {
        return await part()
      } catch (error) {
        failed(child)
        throw error
      } finally {
        child.end()
      }
    },
    end: ({ status, code, actor_type }) => {
      span.setAttribute('http.response.status_code', status)
      if (code !== undefined) span.setAttribute('gatehouse.problem_code', code)
      if (actor_type !== undefined) span.setAttribute('gatehouse.actor_type', actor_type)
      if (status >= 500) failed(span)
      span.end()
    },
  }
}
