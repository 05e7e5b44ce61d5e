/** What a program can set for a client and for one call, and what it gets back. */
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { OxpError } from './error.ts'

/** `oxp` has flat bodies; `oxp-wrapped` is OXP with the bodies of OTC, as some SDKs send it. */
export type OxpProtocol = 'oxp' | 'oxp-wrapped' | 'otc'

/** A token, or a function that is asked before each request. After a 401 it is asked again, with the refused token. */
export type OxpToken = string | ((refused?: string) => string | undefined | Promise<string | undefined>)

export interface OxpClientOptions {
  /** The address of the server, with the path before `/tools`. */
  url: string | URL
  /** Sent as a bearer token, to the server's own origin and to `trustedOrigins` only. */
  token?: OxpToken
  /** More headers for the same origins, such as `OXP-API-Key`. */
  headers?: Readonly<Record<string, string>>
  /** Default: `oxp`. */
  protocol?: OxpProtocol
  /** False: send no `OXP-Version` and no `$schema` (default: true). */
  sendVersion?: boolean
  /**
   * Shows an authorization that a person has to complete. After that the client polls `checkUrl` and repeats the call.
   * Without a `checkUrl` it repeats the call if this returns true. Without this function the call fails.
   */
  onChallenge?: OnChallenge
  /** Changes the input before a retry, for example with the help of a model. */
  revise?: Revise
  trustedOrigins?: readonly string[]
  /** The deadline of a call with its retries and challenges, in milliseconds (default: 300,000). */
  timeoutMs?: number
  /** How often a call is repeated after a failure with `can_retry` (default: 3). */
  retries?: number
  /**
   * True: a call whose connection broke is repeated with the same `call_id`. Only for servers that recognize a repeated
   * `call_id`, as Callplane does; another one would run the tool twice (default: false).
   */
  repeatLostCalls?: boolean
  /** The time between two checks of a challenge in milliseconds (default: 2,000). */
  pollMs?: number
  /** The largest response in bytes (default: 16 MiB). */
  maxResponseBytes?: number
  signal?: AbortSignal
  /** Default: the global `fetch`. */
  fetch?: typeof globalThis.fetch
  /** Default: the system's. Tests set it. */
  clock?: Pick<Clock, 'monotonicMs' | 'schedule'>
}

export type OnChallenge = (challenge: ChallengeInfo, signal: AbortSignal) => unknown

/** Returns the input of the next try, `undefined` to keep it, or false to give up. */
export type Revise = (
  error: OxpError,
  input: JsonObject,
) => JsonObject | false | undefined | Promise<JsonObject | false | undefined>

/** An authorization that a person has to complete. */
export interface ChallengeInfo {
  readonly id: string
  /** The page for the person: `http` or `https`. */
  readonly url: string
  readonly checkUrl?: string
  readonly toolId: string
}

export interface OxpCallOptions {
  signal?: AbortSignal
  timeoutMs?: number
  /** Default: a new one. Set it to repeat a call of an earlier run of the program. */
  callId?: string
  traceId?: string
  context?: OxpContext
}

/** What a tool requires besides its input. */
export interface OxpContext {
  userId?: string
  /** Tokens by the id of the authorization. */
  authorization?: Readonly<Record<string, string>>
  /** Values by the id of the secret. */
  secrets?: Readonly<Record<string, string>>
}

export interface OxpResult<Value = JsonValue> {
  readonly value: Value
  readonly callId: string
  readonly durationMs: number | undefined
}

export interface OxpTool {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly version: string | undefined
  /** The JSON Schema of the input, in every dialect. */
  readonly inputSchema: JsonObject
  /** `null`: the tool returns nothing. */
  readonly outputSchema: JsonObject | null
  readonly requirements: OxpToolRequirements
}

export interface OxpToolRequirements {
  readonly authorization: readonly { readonly id: string; readonly scopes: readonly string[] }[]
  readonly secrets: readonly string[]
  readonly userId: boolean
}

/** The tools of a server by their ids, for `createOxpClient<Tools>`. */
export type OxpToolTypes = { readonly [toolId: string]: { input: object; value: unknown } }

export interface OxpClient<Tools extends OxpToolTypes = Record<string, { input: JsonObject; value: JsonValue }>> {
  tools(options?: Pick<OxpCallOptions, 'signal' | 'timeoutMs'>): Promise<OxpTool[]>
  /** Rejects with an `OxpError`. */
  call<Id extends keyof Tools & string>(
    toolId: Id,
    input?: Tools[Id]['input'],
    options?: OxpCallOptions,
  ): Promise<OxpResult<Tools[Id]['value']>>
}
