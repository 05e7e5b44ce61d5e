/** The clock, randomness and ids for an operation that runs without a server. */
import { hash, randomBytes, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { slotDigits, withSlot } from '../../core/call/slots.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import { createConformance } from '../../schemas/index.ts'
import { createRedactor } from '../../security/redaction/redaction.ts'
import { createMemoryLog, type LogLine } from '../fakes/memory-log.ts'

/** Unlike a server's timers, these keep the process alive, so that a script does not exit before its run ends. */
const realTime: Clock = {
  now: Date.now,
  monotonicMs: () => Math.floor(performance.now()),
  schedule(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

export function createRunEnvironment(lines: LogLine[], clock: Clock = realTime): Environment {
  const redactor = createRedactor()
  const digest = (text: string) => hash('sha256', text)
  return {
    clock,
    log: createMemoryLog(lines),
    newId: randomUUID,
    newCallId: (tenant, owner) => withSlot(randomUUID(), slotDigits(digest, tenant, owner)),
    newSecret: () => randomBytes(32).toString('base64url'),
    random: Math.random,
    nextTurn: () => new Promise((resolve) => setImmediate(resolve)),
    digest,
    sign: (text) => hash('sha256', text, 'base64url'),
    isSigned: (text, signature) => signature === hash('sha256', text, 'base64url'),
    base64: (bytes) => Buffer.from(bytes).toString('base64'),
    gzip: (text) => gzipSync(text),
    conforms: createConformance(),
    // Redacts as a server does: a test sees what a caller would see.
    conceal: redactor.add,
    redact: redactor.redactJson,
    redactBytes: redactor.redactBytes,
  }
}
