/** `callplane/client`: calls, runs, downloads, uploads and streams, in a browser or any other runtime with `fetch`. */
import { buildClient } from './client.ts'
import { resultOf } from './downloads/download.ts'
import { ResultFetcher } from './downloads/fetch-result.ts'
import { FullCall } from './full-call.ts'
import { HttpTransport } from './http/http-transport.ts'
import type { ClientOptions } from './options.ts'
import type { Client } from './types.ts'
import { encodeUpload } from './upload.ts'

export type { Download, DownloadableCall } from './downloads/download.ts'
export { CallFault, type ClientCode, isFault, type Outcome, type Settled, safe } from './fault.ts'
export type { CallOptions, ClientOptions, MediaInput, Middleware, OutgoingCall, Progress } from './options.ts'
export type { Run } from './run.ts'
export type { FrameStream } from './streams/frame-stream.ts'
export type { Call, Client } from './types.ts'

export function createClient<Ops>(options: ClientOptions): Client<Ops> {
  const transport =
    options.transport ??
    new HttpTransport(options, { encodeUpload, createFetcher: (requests) => new ResultFetcher(requests) })
  return buildClient(options, transport, {
    createCall: (calling, finish, outgoing, given) => new FullCall(calling, finish, outgoing, given),
    finish: resultOf,
  }) as Client<Ops>
}
