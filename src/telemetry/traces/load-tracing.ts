/** Tracing where there is somebody to trace for. The API alone takes 15 ms and 7 MB to load, so it is looked for first. */
import type { Observer } from '../../core/ports/observer.ts'
import type { TracingOptions } from './tracing.ts'

/** Where every copy of the OpenTelemetry API, whatever its version, keeps what an application has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

export async function loadTracing(options: TracingOptions): Promise<Observer | undefined> {
  if (!(REGISTERED in globalThis)) return undefined
  const { createTracing } = await import('./tracing.ts')
  return createTracing(options)
}
