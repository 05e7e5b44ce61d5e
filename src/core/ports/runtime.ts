/** Time, randomness, ids and logs are injected, so that a test can control them. */
import type { JsonObject, JsonValue } from '../json.ts'

/** The engine's only source of time, randomness and ids. */
export interface Environment {
  readonly clock: Clock
  /** A UUID version 7: unique, and ordered by time, so that stores index it efficiently. */
  newId(): string
  /**
   * The same for a call, with the slot of its owner inside (`core/call/slots.ts`), so that a shard can be found from
   * the id.
   */
  newCallId(tenant: string, owner: string): string
  /** 256 random bits, URL-safe. */
  newSecret(): string
  /** 0 ≤ x < 1. */
  random(): number
  /** Resolves after the pending input and output of the process was handled. */
  nextTurn(): Promise<void>
  /** SHA-256 in hex. */
  digest(text: string): string
  /** A keyed hash that only this deployment can compute. URL-safe. */
  sign(text: string): string
  /** True if `sign` made the signature, with the current key or an earlier one. */
  isSigned(text: string, signature: string): boolean
  base64(bytes: Uint8Array): string
  gzip(text: string): Uint8Array
  /** True if the value is valid against this JSON Schema. */
  conforms(schema: JsonObject, value: JsonValue): boolean
  /** Redacts this value from all output from now on. The returned function says that the value is no longer in use. */
  conceal(value: string): () => void
  /** Returns the value without concealed values. */
  redact(value: JsonValue): JsonValue
  /** The same for one stream of bytes. */
  redactBytes(): ByteRedactor
  readonly log: Log
}

/** Removes concealed values from one stream of bytes, including values that are split across two pieces. */
export interface ByteRedactor {
  /** Returns the bytes that can be sent now. */
  push(bytes: Uint8Array): Uint8Array
  /** Returns the remaining bytes. */
  end(): Uint8Array
}

export interface Clock {
  /**
   * Unix epoch milliseconds, for times that people and other machines see. An administrator can set it at any moment.
   */
  now(): number
  /**
   * Whole milliseconds since an arbitrary moment. It cannot be set: use it for every interval that begins and ends in
   * this process.
   */
  monotonicMs(): number
  /** Runs `run` once after the delay. The returned function cancels it. The timer does not keep the process alive. */
  schedule(delayMs: number, run: () => void): () => void
}

/** The part of pino that the server uses: fields first, then the message. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A log that adds these fields to every line. */
  child(fields: object): Log
}
