/** Time, chance, identity and logs come from outside, so that a test can hold them still. */
import type { JsonObject, JsonValue } from '../json.ts'

/** Time, chance and identity come from outside, so that a test can hold them still. */
export interface Environment {
  readonly clock: Clock
  /** UUID version 7: unique, and ordered by time so that stores index well. */
  newId(): string
  /** The same with the slot of its owner inside (`core/slots.ts`): for calls, so that a shard can be found from the id. */
  newCallId(tenant: string, owner: string): string
  /** 0 ≤ x < 1. */
  random(): number
  /** SHA-256 in hex. */
  digest(text: string): string
  /** A keyed hash that only this deployment can make, URL-safe. */
  sign(text: string): string
  base64(bytes: Uint8Array): string
  gzip(text: string): Uint8Array
  /** Whether a value is as this JSON Schema wants it. */
  conforms(schema: JsonObject, value: JsonValue): boolean
  /** From now on this value is removed from whatever is written; the returned function says that it is out of use. */
  conceal(value: string): () => void
  /** Without the values that are concealed. */
  redact(value: JsonValue): JsonValue
  /** The same for one stream of bytes. */
  redactBytes(): ByteRedactor
  readonly log: Log
}

/** Lets the bytes of one stream pass without concealed values, also those that begin in one piece and end in another. */
export interface ByteRedactor {
  /** What may leave by now. */
  push(bytes: Uint8Array): Uint8Array
  /** What is left. */
  end(): Uint8Array
}

export interface Clock {
  /** Unix epoch milliseconds, for what people and other machines see. An administrator can set it at any moment. */
  now(): number
  /** Whole milliseconds since some moment, never set: for every interval that begins and ends here. */
  monotonicMs(): number
  /** Runs once after the delay; the returned function calls it off. Does not keep the process alive. */
  schedule(delayMs: number, run: () => void): () => void
}

/** The part of pino that is used: fields first, then the sentence. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** A log that adds these fields to every line. */
  child(fields: object): Log
}
