/** `callplane/client`: calls, runs, downloads, uploads and streams, in a browser or any other runtime with `fetch`. */
import { buildClient } from './client.ts'
import { createWarner } from './deprecation.ts'
import { resultOf } from './downloads/download.ts'
import { FullCall } from './full-call.ts'
import { createHttpTransport } from './full-http.ts'
import { FullRun } from './full-run.ts'
import type { ClientOptions } from './options.ts'
import { createRegistryReader } from './registry.ts'
import { traceparent } from './traceparent.ts'
import type { Client } from './types.ts'

export type { Download, DownloadableCall } from './downloads/download.ts'
export { CallFault, type ClientCode, isFault, type Outcome, type Settled, safe } from './fault.ts'
export type { ProgressRun as Run } from './full-run.ts'
export type { CallOptions, ClientOptions, MediaInput, Middleware, OutgoingCall, Progress } from './options.ts'
export type { Registry, RegistryEntry } from './registry.ts'
export type { FrameStream } from './streams/frame-stream.ts'
export type { Call, Client } from './types.ts'

export function createClient<Ops>(options: ClientOptions): Client<Ops> {
  const transport = options.transport ?? createHttpTransport(options)
  return buildClient(options, transport, {
    createCall: (calling, finish, outgoing, given) => new FullCall(calling, finish, outgoing, given),
    createRun: (calling, finish, operation, first) => new FullRun(calling, finish, operation, first),
    finish: resultOf,
    extras: { observe: createWarner(options.onWarning), trace: traceparent },
    ...(transport.fetcher && { methods: { registry: createRegistryReader(transport.fetcher) } }),
  }) as Client<Ops>
}
