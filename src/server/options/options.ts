/** What an application can say about its server. Everything has a default that is safe on a laptop. */
import type { UpgradeClaim } from '../../carriers/http/index.ts'
import type { HandlerContext } from '../../core/context.ts'
import type { OperationDefinition, Tombstone } from '../../core/operation.ts'
import type { Guard } from '../../core/ports/guard.ts'
import type { ObjectStore } from '../../core/ports/objects.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import type { LimitRules } from '../../engine/limits/limits.ts'
import type { WorkerSettings } from '../../engine/run/worker.ts'
import type { McpPrompt, McpResource } from '../../protocols/mcp/index.ts'
import type { AuthorizationConfig } from '../../security/consent/provider.ts'
import type { TokenEndpointRules } from '../../security/credentials/client-credentials.ts'
import type { AuthConfig } from '../../security/identity/identify.ts'
import type { FetcherOptions } from '../../security/outbound/fetcher.ts'
import type { PolicyDefinition } from '../../security/policy/policy.ts'
import type { SecretPlace } from '../../security/secrets/secrets.ts'
import type { SigningOptions } from '../../security/signatures.ts'
import type { AnnounceOptions } from '../announcements/announcements.ts'
import type { ToolImport } from '../declarations/index.ts'
import type { AuthHook } from './auth-hook.ts'

export type { UpgradeClaim } from '../../carriers/http/index.ts'

export type { LimitRules }

export type ServerOptions<App = unknown> = BaseOptions<App> & Injected<App>

/** `context` may be left out only where no operation expects anything of it. */
type Injected<App> = unknown extends App ? { context?: ContextSource<object> } : { context: ContextSource<App> }

export type ContextSource<App> = App | ((call: Pick<HandlerContext, 'caller' | 'requestId'>) => App | Promise<App>)

interface BaseOptions<App> {
  operations: readonly (OperationDefinition<App> | Tombstone)[]
  /** Servers whose tools become operations as well: see `importTools`. */
  imports?: readonly ToolImport[]
  /** Where everything is kept; `.callplane` unless given. */
  data?: string
  /**
   * Starts though the database lacks commits that were acknowledged, or is another one than the last time, and logs what
   * is missing. For one start after a loss. Default: false.
   */
  acceptLoss?: boolean
  /** Who may call. Without it, everybody who reaches the loopback interface. */
  auth?: AuthConfig
  /** Services at which people authorize operations to act for them. */
  authorization?: AuthorizationConfig
  /** What seals their tokens: `CALLPLANE_VAULT_KEY`, or `vault.key` below `data`, unless given. */
  vault?: VaultOptions
  /** How callers reach us, path included, where it is not what they put into `Host`. */
  publicUrl?: string
  /**
   * The path below which a host mounts the server, such as `/api`: links carry it, and requests are understood with it and
   * without it. Express needs none.
   */
  basePath?: string
  /**
   * `Host` values that are answered. Unless given, and while there is no authentication: loopback names and the one in
   * `publicUrl`, and only requests that come from this machine.
   */
  hosts?: readonly string[]
  /** Web origins whose pages may call; none unless given. */
  cors?: { origins: readonly string[] }
  /**
   * Paths of the server of `listen` that speak another protocol after an HTTP upgrade, such as a WebSocket of your own.
   * The `hosts` and `cors` rules hold for them. `close` ends their sockets.
   */
  upgrades?: readonly UpgradeClaim[]
  /** Where attachments may be fetched from; nowhere unless given. */
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
  /** Stands in for the namespace an operation does not have, where a protocol needs one; `callplane` unless given. */
  toolkit?: string
  /** How operations are named as tools. */
  tools?: ToolOptions
  /** Signs every answer (RFC 9421). */
  signing?: SigningOptions
  /** Who may run what, what needs an approval, what must run in a sandbox: a file, or the policy itself. */
  policy?: string | PolicyDefinition
  /** Rules besides the scopes that operations name, and the policy. */
  guards?: readonly Guard[]
  /** Where the secrets are that operations refer to: the environment and the encrypted store unless given. */
  secrets?: readonly SecretPlace[]
  /** How the token endpoints of `oauth2_client_credentials` want to be asked, by their URL. */
  tokenEndpoints?: Readonly<Record<string, TokenEndpointRules>>
  /** How the Tool Contract's answers are written, over HTTP and gRPC. */
  contract?: ContractOptions
  /** The Tool Contract over gRPC, on a port of its own; not served unless given. */
  grpc?: GrpcServerOptions
  /** Which service is told of pending approvals and of calls that have ended; none unless given. */
  announce?: AnnounceOptions
  /** How long the trail of who did what is kept; 90 days unless given. */
  audit?: { keepDays?: number }
  /** `silent` unless given; a log of one's own is used as it is. */
  log?: Log | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Where the log's lines go, one JSON object each; standard output unless given. */
  logTo?: { write(line: string): unknown }
  /** One line for each request. */
  requestLog?: boolean
  /** One line for each call that is not recorded and not governed either; those that are have theirs in any case. */
  executionLog?: boolean
  /** Instead of SQLite and files below `data`. */
  store?: Store
  objects?: ObjectStore
  clock?: Clock
}

export interface VaultOptions {
  /** 32 bytes, as they are or in hex or base64. */
  key?: string | Uint8Array
  /** Earlier keys: they open what was sealed before the change, and seal nothing. */
  oldKeys?: readonly (string | Uint8Array)[]
}

export interface Sizes {
  envelopeBytes: number
  /** The attachments of one request whose operation is not known yet, taken together. */
  uploadBytes: number
  chunkBytes: number
  objectBytes: number
}

export interface OpenCallOptions {
  /** Refuses what OpenCALL asks for and lenient servers do without, such as a UUID as `requestId`. */
  strict?: boolean
  /**
   * Keeps operations that are gone in `/.well-known/ops`, each as a tombstone: its name, its sunset and its replacement.
   * Default: false.
   */
  listRemoved?: boolean
  /** How many `GET /ops/{id}/events` one caller may have open; 100 unless given. */
  eventStreamsPerCaller?: number
}

export interface ToolOptions {
  /**
   * Tool names without a namespace in MCP, the Tool Execution API and the Tool Contract: `getItem` for
   * `v1:orders.getItem`. `true` for all operations of the application and what it imports, or the names of those it is
   * for, each standing for all its versions. OXP and OTC keep the namespace, which their documents ask for. None unless
   * given.
   */
  bareNames?: boolean | readonly string[]
}

export interface ContractOptions {
  /**
   * `json`: values in `error.details` keep their types, numbers stay numbers. `strings`: every value is text, for
   * runtimes such as Orloj's whose types hold nothing else. Default: `json`.
   */
  details?: 'json' | 'strings'
}

export interface GrpcServerOptions {
  /** 127.0.0.1 unless given. */
  host?: string
  port: number
  /** PEM; without it the connection is in plain text. */
  tls?: { key: string | Uint8Array; cert: string | Uint8Array }
}

export interface OxpOptions {
  /** What `POST /tools/call` answers to a missing or bad credential; 400 unless given, as the call page has it. */
  unauthorizedStatus?: 400 | 401
}

export interface McpOptions {
  /**
   * `operations`: each operation is a tool. `call`: there are two, one that takes OpenCALL's request envelope and one
   * that finds operations, for servers with more of them than a model should read. `operations` unless given.
   */
  shape?: 'operations' | 'call'
  /** How the server calls itself; `callplane` unless given. */
  name?: string
  title?: string
  /** Of the application; this package's unless given. */
  version?: string
  /** For the model: what these tools are for, and how they go together. */
  instructions?: string
  /** Texts and files of the application that agents can read. */
  resources?: readonly McpResource[]
  /** Prompts that agents offer to their people. */
  prompts?: readonly McpPrompt[]
  /**
   * Offers the server's own operations (`v1:callplane.*`) as tools, too, to callers who have their scopes: a model that
   * administers. Off unless given.
   */
  administration?: boolean
  /** Names of operations, such as `v1:reports.generate`, that only clients with the Tasks extension may call. */
  tasksOnly?: readonly string[]
}

export interface RestOptions {
  /** Whether tools can be run there; off unless given, except in `callplane serve` on loopback without authentication. */
  allowExecute?: boolean
  /** Stands around every call, besides the server's own authentication. */
  authHook?: AuthHook
  /** Of the page at `/explorer/`; "MCP Tool Explorer" unless given. */
  title?: string
  projectName?: string
  projectUrl?: string
}

export const DEFAULT_TITLE = 'MCP Tool Explorer'

export const DEFAULT_SIZES: Sizes = {
  envelopeBytes: 1024 * 1024,
  uploadBytes: 100 * 1024 * 1024,
  // With 256 KiB, 1 GiB written and read back stays below 150 MB (`npm run bench -- chunks`); with 1 MiB it did not.
  chunkBytes: 256 * 1024,
  objectBytes: 10 * 1024 * 1024 * 1024,
}

export const DEFAULT_TOOLKIT = 'callplane'

export interface WorkSettings extends WorkerSettings {
  /**
   * How long a handler that still runs after its attempt has ended holds up the next attempt of the same call, and how
   * long a handler that a shutdown told to stop may still return its result.
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
