/**
 * Loads tracing only if an application registered an OpenTelemetry SDK, because the API alone takes 15 ms and 7 MB to
 * load.
 */
import type { Observer } from '../../core/ports/observer.ts'
import type { TracingOptions } from './tracing.ts'

/** The global symbol under which every copy of the OpenTelemetry API, of any version, keeps the registered SDK. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

export async function loadTracing(options: TracingOptions): Promise<Observer | undefined> {
  if (!(REGISTERED in globalThis)) return undefined
  const { createTracing } = await import('./tracing.ts')
  return createTracing(options)
}
