import { room } from '../kernel/room-door.ts'

export const telemetryRoom = room({
  sees: ['kernel'],
  shows: ['logger-options.ts', 'metrics.ts', 'spans.ts', 'start-tracing.ts'],
})
