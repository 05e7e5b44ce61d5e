/** What the server's own operations tell about the server and its operations. */
import type { JsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { StreamTransports } from '../../core/ports/frames.ts'
import type { DetailsParts, OperationRates } from '../../engine/admin/about/operation-details.ts'
import type { ServerAbout, WhoAmIParts } from '../../engine/admin/about/whoami.ts'
import type { SeriesParts } from '../../engine/admin/metrics/series.ts'
import type { Registry } from '../../engine/registry.ts'
import { encodeOperation } from '../../protocols/opencall/codec.ts'
import { type Counted, DEFAULT_BUCKETS, quantileMs } from '../../telemetry/index.ts'
import type { ServerOptions } from '../options/options.ts'
import { hasSeveralTenants } from '../options/tenancy.ts'
import type { AboutServer } from './about-server.ts'
import type { Observing } from './observing.ts'

const BOUNDS_MS = DEFAULT_BUCKETS.map((seconds) => seconds * 1000)

interface Told {
  about: AboutServer
  registry: Registry
  observing: Observing
  transports: StreamTransports
  now(): number
}

export function tellAboutServer<App>(
  options: ServerOptions<App>,
  told: Told,
): WhoAmIParts & Pick<DetailsParts, 'describe' | 'rates' | 'hasTenants'> & Pick<SeriesParts, 'quantileMs'> {
  const { about, registry, observing, transports } = told
  const configured = hasSeveralTenants(options)
  return {
    server: {
      name: options.mcp?.name ?? 'callplane',
      ...about.program,
      features: () => featuresOf(options, registry),
      mode: ({ session }) => (session?.readOnly ? 'read-only' : 'read-write'),
      session: ({ session }) => session && { expiresAt: session.expiresAt, idleSeconds: session.idleSeconds },
    } satisfies ServerAbout,
    hasTenants: () => about.hasTenants || configured,
    describe: (operation) => encodeOperation(operation, transports.names()) as unknown as JsonObject,
    quantileMs: (buckets, share) => quantileMs({ buckets, boundsMs: BOUNDS_MS }, share),
    rates: (operation) => ratesOf(observing.metrics.counted(operation), told.now() - about.program.startedAt),
  }
}

function featuresOf<App>({ policy, guards }: ServerOptions<App>, { operations }: Registry): string[] {
  const governs = policy !== undefined || (guards?.length ?? 0) > 0
  const streams = operations.some(({ stream, internal }: Operation) => stream && !internal)
  return [...(governs ? ['approvals'] : []), ...(streams ? ['streams'] : []), 'mcp', 'oxp', 'otc', 'rest', 'contract']
}

function ratesOf(counted: Counted | undefined, sinceMs: number): OperationRates {
  const since = Math.max(0, sinceMs)
  if (!counted || counted.calls === 0) return { calls: 0, errors: 0, sinceMs: since }
  const [p50Ms, p99Ms] = [quantileMs(counted, 0.5), quantileMs(counted, 0.99)]
  return { calls: counted.calls, errors: counted.errors, p50Ms, p99Ms, sinceMs: since }
}
