/** JSON-RPC 2.0 as MCP uses it: one message at a time, ids are strings or numbers, params are objects. */
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { type ClientReply, replyIn } from './asking/client-replies.ts'
import type { RequestId, RpcError, RpcNotification, RpcRequest } from './wire.ts'

/** A `response` is a client's reply to a request of the server. */
export type Message =
  | ({ kind: 'request' } & RpcRequest)
  | { kind: 'notification'; method: string; params: JsonObject }
  | { kind: 'response'; reply: ClientReply | undefined }

const NO_PARAMS: JsonObject = Object.freeze({})

export function parseMessage(value: JsonValue): Message {
  if (Array.isArray(value)) throw invalid('Batches are not supported. Send one message at a time.')
  if (!isJsonObject(value) || value.jsonrpc !== '2.0') {
    throw invalid('This is not a JSON-RPC message. Send an object with "jsonrpc": "2.0" and a "method".')
  }
  const { method, params = NO_PARAMS } = value
  if (typeof method !== 'string') {
    if ('result' in value || 'error' in value) return { kind: 'response', reply: replyIn(value) }
    throw invalid('The message has no "method". Add the method to call.')
  }
  if (!isJsonObject(params)) throw invalid('"params" must be an object.')
  if (!('id' in value)) return { kind: 'notification', method, params }
  const { id } = value
  if (!isRequestId(id)) throw invalid('"id" must be a string or a number.')
  return { kind: 'request', id, method, params }
}

/** Returns the id that a refusal repeats. `null` if the message has no valid id. */
export function idIn(value: JsonValue | undefined): RequestId | null {
  return isJsonObject(value) && isRequestId(value.id) ? value.id : null
}

export function isRequestId(id: unknown): id is RequestId {
  return typeof id === 'string' || typeof id === 'number'
}

/** An encoded result that is cached, because encoding a list of 10,000 tools took eight times as long as sending it. */
export class Written {
  readonly text: string
  #bytes: Uint8Array | undefined

  constructor(result: object) {
    this.text = JSON.stringify(result)
  }

  get bytes(): Uint8Array {
    this.#bytes ??= new TextEncoder().encode(this.text)
    return this.#bytes
  }
}

/** A result that is text already and is sent once. */
export class ResultText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function encodeResult(id: RequestId, result: object): string {
  if (result instanceof ResultText) return around(id, result.text)
  return around(id, result instanceof Written ? result.text : JSON.stringify(result))
}

/**
 * Returns the response in pieces without copying the cached bytes: copying 2.7 MB per request cost more than sending
 * it.
 */
export function encodePieces(id: RequestId, { bytes }: Written): readonly Uint8Array[] {
  const shell = new TextEncoder().encode(around(id, ''))
  return [shell.subarray(0, -1), bytes, shell.subarray(-1)]
}

function around(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function encodeErrorResponse(id: RequestId | null, error: RpcError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

export function notification(method: string, params: JsonObject): RpcNotification {
  return { jsonrpc: '2.0', method, params }
}

function invalid(message: string): Fault {
  return new Fault('malformed', message, { code: 'INVALID_RPC' })
}
