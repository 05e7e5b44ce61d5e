/** The options of a server. Every default is safe on a laptop. */
import type { UpgradeClaim } from '../../carriers/http/index.ts'
import type { HandlerContext } from '../../core/call/context.ts'
import type { OperationDefinition, Tombstone } from '../../core/operation/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { OpenStore, Store } from '../../core/ports/store.ts'
import type { LimitRules } from '../../engine/limits/limit-rules.ts'
import type { WorkerSettings } from '../../engine/run/worker.ts'
import type { McpPrompt, McpResource } from '../../protocols/mcp/index.ts'
import type { AuthorizationConfig } from '../../security/consent/provider.ts'
import type { TokenEndpointRules } from '../../security/credentials/token-endpoint-rules.ts'
import type { AuthConfig } from '../../security/identity/identify.ts'
import type { FetcherOptions } from '../../security/outbound/fetcher.ts'
import type { PolicyDefinition } from '../../security/policy/policy.ts'
import type { SecretPlace } from '../../security/secrets/secrets.ts'
import type { SigningOptions } from '../../security/signatures.ts'
import type { AnnounceOptions } from '../announcements/announcements.ts'
import type { ToolImport } from '../declarations/index.ts'
import type { AuthHook } from './auth-hook.ts'
import type { CellOptions } from './cells.ts'
import type { ConsoleOptions } from './console.ts'
import type { KafkaOptions } from './kafka.ts'
import type { MqttOptions } from './mqtt.ts'
import type { ObjectsOption } from './objects.ts'
import type { PostgresOptions } from './postgres.ts'
import type { QuicOptions } from './quic.ts'
import type { TlsOptions } from './tls.ts'
import type { WebRtcOptions } from './webrtc.ts'

export type { UpgradeClaim } from '../../carriers/http/index.ts'

export type { LimitRules }

export type ServerOptions<App = unknown> = BaseOptions<App> & Injected<App>

/** `context` is optional only if no operation expects anything from it. */
type Injected<App> = unknown extends App ? { context?: ContextSource<object> } : { context: ContextSource<App> }

export type ContextSource<App> = App | ((call: Pick<HandlerContext, 'caller' | 'requestId'>) => App | Promise<App>)

interface BaseOptions<App> {
  operations: readonly (OperationDefinition<App> | Tombstone)[]
  /** Servers whose tools become operations, too. See `importTools`. */
  imports?: readonly ToolImport[]
  /** Folder for all data. Default: `.callplane`. */
  data?: string
  /**
   * Starts even if the database lacks acknowledged commits, or is not the one of the last start, and logs what is
   * missing. For one start after a loss. Default: false.
   */
  acceptLoss?: boolean
  /** Who may call. Default: every client that reaches the loopback interface. */
  auth?: AuthConfig
  /** Services where people authorize operations to act for them. */
  authorization?: AuthorizationConfig
  /** The keys that seal their tokens. Default: `CALLPLANE_VAULT_KEY`, or else `vault.key` below `data`. */
  vault?: KeyOptions
  /** The keys that sign links and sessions. Default: `CALLPLANE_LINK_KEY`, or else `link.key` below `data`. */
  links?: KeyOptions
  /** The URL that callers use, path included, if it differs from their `Host` header. */
  publicUrl?: string
  /**
   * The path below which a host mounts the server, such as `/api`. Links include it, and requests match with and
   * without it. Express does not need it.
   */
  basePath?: string
  /** Divides callers between several stores, each with servers of its own. Needs `auth`. Default: all are here. */
  cells?: CellOptions
  /**
   * Accepted `Host` values. Default without authentication: loopback names and the host of `publicUrl`, and only
   * requests from this machine.
   */
  hosts?: readonly string[]
  /** Web origins whose pages may call. Default: none. */
  cors?: { origins: readonly string[] }
  /**
   * Paths of the `listen` server that switch to another protocol with an HTTP upgrade, such as your own WebSocket. The
   * `hosts` and `cors` rules apply to them. `close` ends their sockets.
   */
  upgrades?: readonly UpgradeClaim[]
  /**
   * OpenCALL over WebSocket, on the HTTP port: calls at `/call`, streams at `/streams/{id}`. Default: true if the package
   * `ws` is installed.
   */
  websocket?: boolean
  /** OpenCALL over Kafka. Default: off. */
  kafka?: KafkaOptions
  /** Streams over WebRTC. Needs the package `werift`. Default: off. */
  webrtc?: boolean | WebRtcOptions
  /** `listen` serves HTTPS with this certificate. Default: HTTP. */
  tls?: TlsOptions
  /** OpenCALL through an MQTT broker. Needs the package `mqtt`. Default: off. */
  mqtt?: MqttOptions
  /** HTTP/3 and raw QUIC streams. Needs `tls` and the package @currentspace/http3. Default: off. */
  quic?: QuicOptions
  /** Where the server may fetch attachments from. Default: nowhere. */
  references?: FetcherOptions
  limits?: Partial<LimitRules>
  sizes?: Partial<Sizes>
  work?: Partial<WorkSettings>
  opencall?: OpenCallOptions
  oxp?: OxpOptions
  /** The Model Context Protocol, at `/mcp` and on standard input and output. */
  mcp?: McpOptions
  /** The Tool Execution API, at the root and below `/explorer`. */
  rest?: RestOptions
  /**
   * The console at `/explorer/` and `/console/`. False: `/explorer/` is a plain list, and nobody can log in. Default: on.
   */
  console?: false | ConsoleOptions
  /** Namespace for operations without one, in protocols that need one. Default: `callplane`. */
  toolkit?: string
  /** Tool names of operations. */
  tools?: ToolOptions
  /** Signs every response (RFC 9421). */
  signing?: SigningOptions
  /** Who may run what, what needs an approval, what must run in a sandbox: the path of a file, or the policy itself. */
  policy?: string | PolicyDefinition
  /** Further guards, besides the operations' scopes and the policy. */
  guards?: readonly Guard[]
  /** Where operations' secrets come from. Default: the environment and the encrypted store. */
  secrets?: readonly SecretPlace[]
  /** How to call the token endpoints of `oauth2_client_credentials`, by URL. */
  tokenEndpoints?: Readonly<Record<string, TokenEndpointRules>>
  /** Format of the Tool Contract's responses, over HTTP and gRPC. */
  contract?: ContractOptions
  /** Serves the Tool Contract over gRPC, on its own port. Default: off. */
  grpc?: GrpcServerOptions
  /** The service to notify of pending approvals and of ended calls. Default: none. */
  announce?: AnnounceOptions
  /** How long the audit trail is kept. Default: 90 days. */
  audit?: { keepDays?: number }
  /**
   * How long a call that ended by a timeout, or by a failure of a tool or of the server, is kept for operators, even if
   * its `ttlSeconds` are over. Default: 14 days.
   */
  deadLetters?: { keepDays?: number }
  /** A level, or a log of your own. Default: `silent`. */
  log?: Log | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Receives the log's lines, one JSON object each. Default: standard output. */
  logTo?: { write(line: string): unknown }
  /** Logs one line for each request. */
  requestLog?: boolean
  /**
   * Logs one line for each call that is neither recorded nor governed. Recorded and governed calls are always logged.
   */
  executionLog?: boolean
  /**
   * Replaces SQLite below `data`: the address of a Postgres database, a store, or a function that opens one when the
   * server starts.
   */
  store?: string | PostgresOptions | Store | OpenStore
  /**
   * Replaces files below `data`: a bucket, as `s3://bucket/prefix?region=…` or with its credentials, or an object store
   * of your own.
   */
  objects?: ObjectsOption
  clock?: Clock
}

export interface KeyOptions {
  /** 32 bytes: raw, in hex or in base64. */
  key?: string | Uint8Array
  /** Earlier keys. What they sealed or signed stays valid, and nothing new is sealed or signed with them. */
  oldKeys?: readonly (string | Uint8Array)[]
}

export interface Sizes {
  envelopeBytes: number
  /** All attachments together, for one request whose operation is not known yet. */
  uploadBytes: number
  chunkBytes: number
  objectBytes: number
}

export interface OpenCallOptions {
  /** Refuses requests that break a rule which lenient servers ignore, such as a `requestId` that is not a UUID. */
  strict?: boolean
  /**
   * Lists removed operations in `/.well-known/ops`, each as a tombstone: its name, its sunset and its replacement.
   * Default: false.
   */
  listRemoved?: boolean
  /** How many `GET /ops/{id}/events` one caller may have open. Default: 100. */
  eventStreamsPerCaller?: number
}

export interface ToolOptions {
  /**
   * Tool names without a namespace in MCP, the Tool Execution API and the Tool Contract: `getItem` for
   * `v1:orders.getItem`. `true` applies to all operations of the application and its imports. A list applies to the
   * named operations, in all their versions. OXP and OTC keep the namespace, which their documents require. Default:
   * none.
   */
  bareNames?: boolean | readonly string[]
}

export interface ContractOptions {
  /**
   * `json`: values in `error.details` keep their types, so numbers stay numbers. `strings`: every value is text, for
   * runtimes that accept nothing else, such as Orloj's. Default: `json`.
   */
  details?: 'json' | 'strings'
}

export interface GrpcServerOptions {
  /** Default: 127.0.0.1. */
  host?: string
  port: number
  /** PEM. Default: plain text. */
  tls?: { key: string | Uint8Array; cert: string | Uint8Array }
}

export interface OxpOptions {
  /** The status of `POST /tools/call` for a missing or invalid credential. Default: 400, as the call page specifies. */
  unauthorizedStatus?: 400 | 401
}

export interface McpOptions {
  /**
   * `operations`: each operation is a tool. `call`: two tools, one that takes OpenCALL's request envelope and one that
   * finds operations, for servers with more operations than a model should read. Default: `operations`.
   */
  shape?: 'operations' | 'call'
  /** The server's name. Default: `callplane`. */
  name?: string
  title?: string
  /** The application's version. Default: the version of this package. */
  version?: string
  /** Tells the model what these tools are for and how to combine them. */
  instructions?: string
  /** Texts and files of the application that agents can read. */
  resources?: readonly McpResource[]
  /** Prompts that agents offer to their users. */
  prompts?: readonly McpPrompt[]
  /**
   * Offers the server's own operations (`v1:callplane.*`) as tools, too, to callers with their scopes, so that a model
   * can administer. Default: false.
   */
  administration?: boolean
  /** Names of operations, such as `v1:reports.generate`, that only clients with the Tasks extension may call. */
  tasksOnly?: readonly string[]
}

export interface RestOptions {
  /**
   * True if the explorer can run tools. Default: false, except in `callplane serve` on loopback without authentication.
   */
  allowExecute?: boolean
  /** Wraps every call, in addition to the server's own authentication. */
  authHook?: AuthHook
  /** Title of the page at `/explorer/`. Default: "MCP Tool Explorer". */
  title?: string
  projectName?: string
  projectUrl?: string
}

export const DEFAULT_TITLE = 'MCP Tool Explorer'

export const DEFAULT_SIZES: Sizes = {
  envelopeBytes: 1024 * 1024,
  uploadBytes: 100 * 1024 * 1024,
  // With 256 KiB, writing and reading back 1 GiB stays below 150 MB of memory (`npm run bench -- chunks`); with 1 MiB
  // it did not.
  chunkBytes: 256 * 1024,
  objectBytes: 10 * 1024 * 1024 * 1024,
}

export const DEFAULT_TOOLKIT = 'callplane'

export interface WorkSettings extends Omit<WorkerSettings, 'deadLetterMs'> {
  /**
   * How long a handler that outlives its attempt delays the next attempt of the same call, and how long a handler may
   * still return its result after a shutdown has asked it to stop.
   */
  stopGraceMs: number
}

export const DEFAULT_WORK: WorkSettings = {
  leaseMs: 30_000,
  claimEveryMs: 5_000,
  maxCutOffs: 10,
  progressEveryMs: 100,
  stopGraceMs: 5_000,
}
