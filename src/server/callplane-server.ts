/**
 * What a program holds of a running server. It is apart from `serving.ts`, so that the declarations of the package do not
 * load those of every adapter: a compiler reads them for each program that only defines operations.
 */
import type { IncomingMessage } from 'node:http'
import type { Duplex, Readable, Writable } from 'node:stream'
import type { Listening, RequestListener } from '../carriers/http/index.ts'
import type { Client } from '../client/types.ts'
import type { OpenSession } from '../core/ports/session.ts'
import type { Engine } from '../engine/engine.ts'
import type { Registry } from '../engine/registry.ts'
import type { LoginCode } from './console/codes.ts'
import type { TrustedCaller } from './mount/in-process.ts'

export interface CallplaneServer {
  /** For `http.createServer`, Express and any other host that takes a Node request listener. */
  readonly listener: RequestListener
  /**
   * The same for Hono, Next.js, Bun, Deno and any other host that uses Fetch. A Fetch request has no client address:
   * without authentication, the host must listen on loopback only.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * For the `upgrade` event of an HTTP server of your own: OpenCALL over WebSocket, and the `upgrades` of the options.
   * Returns false, and leaves the socket alone, if the request is for something else.
   */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
  readonly engine: Engine
  readonly registry: Registry
  /** Starts an HTTP server, or an HTTPS server with `tls`. Without authentication, only on loopback. */
  listen(address?: { host?: string; port?: number }): Promise<Listening>
  /** The gRPC address of the Tool Contract, if `grpc` is set. */
  readonly grpc?: { host: string; port: number }
  /** Serves the Model Context Protocol on a pair of streams, until the input ends or the signal aborts. */
  serveMcp(streams: MessageStreams): Promise<void>
  /** Serves OpenCALL on a pair of streams, one envelope per line, until the input ends or the signal aborts. */
  serveOpenCall(streams: MessageStreams): Promise<void>
  /** The message-based protocols, for a carrier of your own. */
  readonly sessions: Sessions
  /**
   * A client in this process, for tests and for pages that are rendered on the server. It needs no socket and no
   * credential: the program vouches for the caller. Scopes, policies, limits and records apply.
   */
  client<Ops>(caller: TrustedCaller): Client<Ops>
  /**
   * A one-time code that logs a person in to the console, within ten minutes: `{url}/console/#/login?code={code}`. It is
   * for the local caller if the server has no authentication, and for the administrator otherwise. `undefined` if the
   * console is switched off.
   */
  loginCode(options?: { readOnly?: boolean }): Promise<LoginCode | undefined>
  /** Finishes running calls or returns them to the queue, then closes everything. */
  close(graceMs?: number): Promise<void>
}

/** A pair of streams with one message per line. */
export interface MessageStreams {
  input: Readable
  output: Writable
  /** Ends the session before the input ends. */
  signal?: AbortSignal
  /** Identifies the peer if the server has authentication. */
  token?: string
}

/** Each function opens a session on a connection. Pass one to a carrier of your own. */
export interface Sessions {
  readonly opencall: OpenSession
  readonly mcp: OpenSession
}
