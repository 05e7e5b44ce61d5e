/** Time, chance, identity and hashes as Node has them. */
import { createHmac, hash, randomFillSync } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Clock, Environment, Log } from '../core/ports.ts'

/** The longest delay a Node timer takes; what lies beyond is looked at again then. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  schedule(delayMs, run) {
    const timer = setTimeout(run, Math.min(delayMs, MAX_DELAY_MS))
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export function createEnvironment(log: Log, linkKey: Uint8Array, clock: Clock = systemClock): Environment {
  return {
    clock,
    log,
    newId: createUuids(clock),
    random: Math.random,
    digest: (text) => hash('sha256', text, 'hex'),
    sign: (text) => createHmac('sha256', linkKey).update(text).digest('base64url'),
    base64: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    gzip: (text) => gzipSync(text),
  }
}

/** RFC 9562, version 7. Random bytes are drawn in bulk: one draw per id costs four times as much. */
function createUuids(clock: Clock): () => string {
  const pool = Buffer.alloc(4096)
  let at = pool.length
  return () => {
    if (at + 10 > pool.length) {
      randomFillSync(pool)
      at = 0
    }
    const time = clock.now().toString(16).padStart(12, '0')
    const random = pool.toString('hex', at, at + 10)
    const variant = ((pool[at + 2] as number) & 0x3f) | 0x80
    at += 10
    return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${random.slice(1, 4)}-${variant.toString(16)}${random.slice(6, 8)}-${random.slice(8, 20)}`
  }
}
