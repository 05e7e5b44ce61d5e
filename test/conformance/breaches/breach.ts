/** The shape of a breach: the broken rule, the cases that must detect it, and how the proxy breaks it. */
import type { Asked, Hooks, Served } from '../broken-proxy.ts'

export interface Breach {
  title: string
  cases: readonly string[]
  /** Called for each case, so that a breach keeps no state between cases. */
  start(): Hooks
  /** True if the server behind the proxy requires a token. */
  behindToken?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: a breach does to JSON what no type allows.
export type Loose = any

export function breach(title: string, cases: readonly string[], start: () => Hooks): Breach {
  return { title, cases, start }
}

export function onAnswer(title: string, cases: readonly string[], answer: NonNullable<Hooks['answer']>): Breach {
  return breach(title, cases, () => ({ answer }))
}

export function onRequest(title: string, cases: readonly string[], request: NonNullable<Hooks['request']>): Breach {
  return breach(title, cases, () => ({ request }))
}

/** Changes every envelope in a response. A returned value replaces the envelope. */
export function onEnvelope(
  title: string,
  cases: readonly string[],
  change: (envelope: Loose, served: Served, asked: Asked) => void,
): Breach {
  return onAnswer(title, cases, (served, asked) => {
    if (!asked.path.startsWith('/.well-known/')) changeJson(served, (envelope) => change(envelope, served, asked))
  })
}

/** Changes only the chunks in responses. */
export function onChunk(title: string, cases: readonly string[], change: (chunk: Loose) => void): Breach {
  return onEnvelope(title, cases, (envelope) => {
    if (envelope.chunk) change(envelope)
  })
}

export function onRegistry(title: string, cases: readonly string[], change: (document: Loose) => void): Breach {
  return onAnswer(title, cases, (served, asked) => {
    if (asked.path === '/.well-known/ops' && served.status === 200) changeJson(served, change)
  })
}

/** Changes every entry of the registry. */
export function onEntry(title: string, cases: readonly string[], change: (entry: Loose) => void): Breach {
  return onRegistry(title, cases, ({ operations }) => operations.forEach(change))
}

/** Changes every JSON envelope in a request, like a server that ignores part of it. */
export function onSent(title: string, cases: readonly string[], change: (envelope: Loose) => void): Breach {
  return onRequest(title, cases, (asked) => changeSent(asked, change))
}

/** Sends a success response where the server refuses with one of these codes. */
export function letThrough(codes: readonly string[], cases: readonly string[]): Breach {
  return onEnvelope(`what should be refused as ${codes.join(' or ')} is let through`, cases, (envelope, served) => {
    if (!codes.includes(envelope.error?.code)) return
    served.status = 200
    served.body = Buffer.from(JSON.stringify({ requestId: envelope.requestId, state: 'complete', result: 3 }))
  })
}

/** Refuses a request that the server would accept. */
export function refuseIf(title: string, cases: readonly string[], objection: (envelope: Loose) => boolean): Breach {
  return onEnvelope(title, cases, (envelope, served, asked) => {
    if (asked.headers['content-type'] !== 'application/json') return
    const sent = JSON.parse(asked.body.toString())
    if (!objection(sent)) return
    const error = { code: 'INVALID_REQUEST', message: 'This is not what it should be.' }
    served.status = 400
    const { requestId, sessionId } = envelope
    served.body = Buffer.from(JSON.stringify({ requestId, ...(sessionId && { sessionId }), state: 'error', error }))
  })
}

export function changeSent(asked: Asked, change: (envelope: Loose) => void): void {
  if (asked.headers['content-type'] !== 'application/json') return
  const envelope = JSON.parse(asked.body.toString())
  change(envelope)
  asked.body = Buffer.from(JSON.stringify(envelope))
}

export function changeJson(served: Served, change: (value: Loose) => void): void {
  if (!served.headers['content-type']?.startsWith('application/json') || served.body.length === 0) return
  const before = served.body
  const value = JSON.parse(before.toString())
  change(value)
  // Skipped if the change has set its own body.
  if (served.body === before) served.body = Buffer.from(JSON.stringify(value))
}
