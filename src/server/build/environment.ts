/** The clock, randomness, ids and hashes, implemented with Node. */
import { createHmac, hash, randomBytes, randomFillSync, timingSafeEqual } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { slotDigits } from '../../core/call/slots.ts'
import type { Clock, Environment, Log } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { createConformance } from '../../schemas/index.ts'
import type { Redactor } from '../../security/redaction/redaction.ts'

/** The longest delay that a Node timer accepts. A longer wait is split into several timers. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  schedule(delayMs, run) {
    if (delayMs > MAX_DELAY_MS) return scheduleFar(delayMs, run)
    const timer = setTimeout(run, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

function scheduleFar(delayMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout
  const wait = (leftMs: number) => {
    timer = leftMs > MAX_DELAY_MS ? setTimeout(wait, MAX_DELAY_MS, leftMs - MAX_DELAY_MS) : setTimeout(run, leftMs)
    timer.unref()
  }
  wait(delayMs)
  return () => clearTimeout(timer)
}

/** Stored dates are read from the store's clock; intervals and timers stay on this machine's. */
export function followStore(clock: Clock, store: Pick<Store, 'now'>): Clock {
  return {
    now: () => store.now(),
    monotonicMs: () => clock.monotonicMs(),
    schedule: (delayMs, run) => clock.schedule(delayMs, run),
  }
}

export interface LinkKeys {
  current: Uint8Array
  /** Signatures of earlier keys stay valid. */
  old?: readonly Uint8Array[]
}

export function createEnvironment(log: Log, linkKeys: LinkKeys, clock: Clock, redactor: Redactor): Environment {
  const signWith = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const digest = (text: string) => hash('sha256', text, 'hex')
  return {
    clock,
    log,
    ...createIds(clock, digest),
    newSecret: () => randomBytes(32).toString('base64url'),
    random: Math.random,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    digest,
    sign: (text) => signWith(linkKeys.current, text),
    isSigned: (text, signature) =>
      [linkKeys.current, ...(linkKeys.old ?? [])].some((key) => isSame(signWith(key, text), signature)),
    base64: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
    gzip: (text) => gzipSync(text),
    conforms: createConformance(),
    conceal: redactor.add,
    redact: redactor.redactJson,
    redactBytes: redactor.redactBytes,
  }
}

/** Takes a time that says nothing about how much of the signature is right. Digests have the same length. */
function isSame(expected: string, sent: string): boolean {
  return timingSafeEqual(hash('sha256', expected, 'buffer'), hash('sha256', sent, 'buffer'))
}

/** RFC 9562, version 7. Random bytes are drawn and hex-encoded in bulk: one draw per id costs six times as much. */
function createIds(clock: Clock, digest: (text: string) => string): Pick<Environment, 'newId' | 'newCallId'> {
  const pool = Buffer.alloc(8192)
  let hex = ''
  let at = 0
  let lastMs = -1
  let time = ''
  // Caches the slot of the last owner: one caller sends many calls in a row, and a hash takes a microsecond.
  let last = { tenant: '', owner: '', slot: slotDigits(digest, '', '') }

  /** `slot` replaces three random digits. */
  function next(slot?: string): string {
    if (at + 20 > hex.length) {
      hex = randomFillSync(pool).toString('hex')
      at = 0
    }
    const now = clock.now()
    if (now !== lastMs) {
      lastMs = now
      const digits = now.toString(16).padStart(12, '0')
      time = `${digits.slice(0, 8)}-${digits.slice(8, 12)}-7`
    }
    const variant = VARIANTS[hex.charCodeAt(at) & 3]
    const id = `${time}${slot ?? hex.slice(at + 1, at + 4)}-${variant}${hex.slice(at + 5, at + 8)}-${hex.slice(at + 8, at + 20)}`
    at += 20
    return id
  }

  return {
    newId: () => next(),
    newCallId(tenant, owner) {
      if (tenant !== last.tenant || owner !== last.owner)
        last = { tenant, owner, slot: slotDigits(digest, tenant, owner) }
      return next(last.slot)
    },
  }
}

/** The two highest bits of the variant are 10. */
const VARIANTS = ['8', '9', 'a', 'b'] as const
