/** One call over several wires: what each of them sends, and how its response becomes one outcome. */
import type { RegistryEntry } from '../../../../src/protocols/opencall/wire.ts'

export type WireId = 'opencall' | 'mcp' | 'oxp' | 'otc' | 'rest' | 'contract'

/** What the page knows of an operation. A removed operation has fewer fields. */
export type Entry = Pick<RegistryEntry, 'op'> & Partial<RegistryEntry>

/** How the server names an operation in protocols of tools. */
export interface ToolName {
  /** In MCP, the Tool Execution API and the Tool Contract: `orders_getItem_v1`. */
  name: string
  /** In OXP and OTC: `orders.getItem`, with a version if the newest one is not meant. */
  id: string
}

/** A file for a slot of the operation, in base64, or the address of one. */
export type Attachment = { name: string; mimeType: string } & ({ base64: string } | { ref: string })

export interface WireCall {
  entry: Entry
  /** JSON text of an object. It is sent as it is, so that large numbers and the order of keys survive. */
  argsText: string
  /** A UUID. A repeat of the same request joins the first call. */
  requestId: string
  idempotencyKey: string
  tool?: ToolName
  attachments?: readonly Attachment[]
}

export interface WireRequest {
  method: 'GET' | 'POST'
  /** Below the server's address, without a slash at the start. */
  path: string
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface WireResponse {
  status: number
  header(name: string): string | null
  text: string
}

/** The same on every wire. */
export type Outcome =
  | { kind: 'result' /** JSON text. */; json: string }
  | { kind: 'file'; uri: string; mimeType?: string; auth?: string /** Accompanies the bytes. */; json?: string }
  | { kind: 'bytes'; mimeType: string; base64?: string; text?: string }
  | { kind: 'stream'; requestId: string; place: StreamPlace }
  | {
      kind: 'running'
      requestId: string
      retryAfterMs: number
      progress?: Progress /** Sent to learn more. */
      next: WireRequest
    }
  | Failure

export interface Failure {
  kind: 'failure'
  /** Absent where a wire has no code. */
  code?: string
  message: string
  retryable?: boolean
  /** JSON text of further facts. */
  details?: string
}

export interface Progress {
  fraction?: number
  message?: string
  attempt?: number
}

export interface StreamPlace {
  transport: string
  encoding: string
  location: string
  auth?: { credentialType?: string; credential: string }
}

export interface Wire {
  id: WireId
  title: string
  /** Why this wire cannot carry the call. `undefined` if it can. */
  refusal(call: WireCall): Refusal | undefined
  encode(call: WireCall): WireRequest
  decode(response: WireResponse, call: WireCall): Outcome
}

/** The page has the words. */
export type Refusal = 'stream' | 'stream-needs-task' | 'file' | 'large-file' | 'internal' | 'no-tool'
