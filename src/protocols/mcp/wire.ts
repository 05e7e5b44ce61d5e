/**
 * Types and constants of the Model Context Protocol: the stateless revision 2026-07-28 with its Tasks extension, and
 * the older revisions that start with `initialize`.
 */
import type { JsonObject, JsonValue } from '../../core/json.ts'

/** Each request is independent and contains the client's capabilities in `_meta`. */
export const STATELESS_VERSION = '2026-07-28'

/** Revisions that start with `initialize`, newest first. */
export const INITIALIZED_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26']

/** `stateless`: revision 2026-07-28. `initialized`: an older revision. */
export type Generation = 'stateless' | 'initialized'

export const TASKS = 'io.modelcontextprotocol/tasks'

/** Keys of `_meta`. */
export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  /** Our extension: a request with the same key joins the first call. */
  idempotencyKey: 'callplane/idempotencyKey',
  /** Our extension: code, retry hint and details of a failure, for programs. */
  error: 'callplane/error',
} as const

export type RequestId = string | number

export interface RpcRequest {
  id: RequestId
  method: string
  params: JsonObject
}

export interface RpcNotification {
  jsonrpc: '2.0'
  method: string
  params: JsonObject
}

/** Messages before a response: notifications, and requests of the server to clients of the older revisions. */
export type RpcMessage = RpcNotification | { jsonrpc: '2.0'; id: string; method: string; params: JsonObject }

export interface RpcError {
  code: number
  message: string
  data?: JsonObject
}

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; mimeType: string; data: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string }
  | { type: 'resource'; resource: ResourceContents }

export interface ResourceContents {
  uri: string
  mimeType?: string
  text?: string
  blob?: string
}

export interface CallToolResult {
  content: readonly Content[]
  structuredContent?: JsonValue
  isError?: boolean
  _meta?: JsonObject
}

export interface ToolAnnotations {
  readOnlyHint?: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

export interface ToolDefinition {
  name: string
  title?: string
  description?: string
  inputSchema: JsonObject
  outputSchema?: JsonObject
  annotations?: ToolAnnotations
}

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** Times are ISO 8601. */
export interface Task {
  taskId: string
  status: TaskStatus
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  ttlMs: number | null
  pollIntervalMs?: number
}

/** The response of `tasks/get`. The status determines the additional field. */
export interface DetailedTask extends Task {
  result?: CallToolResult
  error?: RpcError
  inputRequests?: InputRequests
}

export type InputRequests = Record<string, InputRequest>

/** A question to the client's user (a form, or an address to open), to its model, or to the client itself. */
export type InputRequest =
  | {
      method: 'elicitation/create'
      params:
        | { mode: 'form'; message: string; requestedSchema: JsonObject }
        | { mode: 'url'; message: string; url: string }
    }
  | { method: 'sampling/createMessage'; params: JsonObject }
  | { method: 'roots/list'; params: Record<string, never> }
