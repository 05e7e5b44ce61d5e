/**
 * Encodes messages as one record batch of Kafka (format 2, not compressed). The library creates about ten buffers for
 * each record, which took a sixth of a small call.
 */
import { crc32c, type MessageRecord } from '@platformatic/kafka'

export interface BatchOrigin {
  producerId: bigint
  producerEpoch: number
  /** The number of the first record. The broker uses it to drop duplicates. */
  firstSequence: number
  timestampMs: number
}

/** Everything before the records: offset, length, epoch, format, checksum, attributes, times, producer and count. */
const HEAD_BYTES = 61
const LENGTH_AT = 8
const FORMAT_AT = 16
const FORMAT = 2
const CHECKSUM_AT = 17
const ATTRIBUTES_AT = 21

export function encodeRecordBatch(messages: readonly MessageRecord[], origin: BatchOrigin): Buffer {
  let bytes = HEAD_BYTES
  for (const [at, message] of messages.entries()) {
    const body = bodyBytes(message, at)
    bytes += varIntBytes(body) + body
  }
  const batch = Buffer.allocUnsafe(bytes)
  writeHead(batch, messages.length, origin)
  let at = HEAD_BYTES
  for (const [index, message] of messages.entries()) at = writeRecord(batch, at, message, index)
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES_AT)), CHECKSUM_AT)
  return batch
}

function writeHead(batch: Buffer, count: number, origin: BatchOrigin): void {
  const { producerId, producerEpoch, firstSequence, timestampMs } = origin
  // The broker sets the first offset and the epoch of the leader.
  batch.fill(0, 0, FORMAT_AT)
  batch.writeInt32BE(batch.length - LENGTH_AT - 4, LENGTH_AT)
  batch.writeInt8(FORMAT, FORMAT_AT)
  let at = batch.writeInt16BE(0, ATTRIBUTES_AT)
  at = batch.writeInt32BE(count - 1, at)
  at = batch.writeBigInt64BE(BigInt(timestampMs), at)
  at = batch.writeBigInt64BE(BigInt(timestampMs), at)
  at = batch.writeBigInt64BE(producerId, at)
  at = batch.writeInt16BE(producerEpoch, at)
  // The library counts on, and could not write a larger number. Kafka begins again at 0.
  at = batch.writeInt32BE(firstSequence & 0x7fffffff, at)
  batch.writeInt32BE(count, at)
}

/** The size of a record without its length. */
function bodyBytes({ key, value, headers }: MessageRecord, index: number): number {
  // One byte for the attributes, and one for the time after that of the batch.
  let bytes = 2 + varIntBytes(index) + sizedBytes(key) + sizedBytes(value) + varIntBytes(headers?.size ?? 0)
  if (headers && headers.size > 0) {
    for (const [name, content] of headers) bytes += sizedBytes(name) + sizedBytes(content)
  }
  return bytes
}

function writeRecord(batch: Buffer, start: number, message: MessageRecord, index: number): number {
  const { key, value, headers } = message
  let at = writeVarInt(batch, start, bodyBytes(message, index))
  batch[at++] = 0
  batch[at++] = 0
  at = writeVarInt(batch, at, index)
  at = writeSized(batch, at, key)
  at = writeSized(batch, at, value)
  at = writeVarInt(batch, at, headers?.size ?? 0)
  if (headers && headers.size > 0) {
    for (const [name, content] of headers) at = writeSized(batch, writeSized(batch, at, name), content)
  }
  return at
}

function sizedBytes(bytes: Buffer | null | undefined): number {
  return bytes ? varIntBytes(bytes.length) + bytes.length : 1
}

function writeSized(batch: Buffer, start: number, bytes: Buffer | null | undefined): number {
  if (!bytes) return writeVarInt(batch, start, -1)
  const at = writeVarInt(batch, start, bytes.length)
  batch.set(bytes, at)
  return at + bytes.length
}

function varIntBytes(value: number): number {
  let rest = zigZag(value)
  let bytes = 1
  for (; rest >= 0x80; rest >>>= 7) bytes++
  return bytes
}

function writeVarInt(batch: Buffer, start: number, value: number): number {
  let rest = zigZag(value)
  let at = start
  for (; rest >= 0x80; rest >>>= 7) batch[at++] = (rest & 0x7f) | 0x80
  batch[at++] = rest
  return at
}

/** Unsigned, so that a negative number takes few bytes. */
function zigZag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0
}
