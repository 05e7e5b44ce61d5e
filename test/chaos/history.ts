/**
 * What happened in a run, as its clients saw it: every response, every pushed state, every frame, every decision. It is
 * kept in memory for the checker, and in a file of JSON lines for people.
 */
import { createWriteStream, type WriteStream } from 'node:fs'
import { type ClientCall, RANK, type SeenChunk, type Sighting } from '../crash/history.ts'
import type { Silence } from './check/promises.ts'
import type { Subject } from './load/callers.ts'

export type Via = 'reply' | 'poll' | 'wait' | 'events' | 'socket' | 'mqtt' | 'kafka'

/** Times are milliseconds of the clock that all processes of a machine share. */
export interface Seen extends Sighting {
  via: Via
  node: number
  /** The server made it after this time: the request was sent then, or the connection opened. */
  sentMs: number
  heardMs: number
  /** Seen one after the other on the same connection. */
  connection?: string
  /** From the response, in Unix seconds, with the time of this machine when it arrived. */
  expiresAt?: number
  heardAt?: number
}

export interface ChaosCall extends ClientCall {
  kind: string
  caller: Subject
  sightings: Seen[]
  readings: SeenChunk[][]
  /** When its first request was sent, or that of an earlier call with the same label. */
  madeMs: number
  /** The client knows that it exists: an acknowledgement arrived, or a broker took the request. */
  acknowledged?: true
  /** A response said that it was not recorded, with this code. */
  refusedWith?: string
  /** The states that a broker delivered. */
  pushed: Seen[]
}

export interface Reading {
  label: string
  requestId: string
  caller: Subject
  over: 'sse' | 'websocket'
  /** The numbers of the frames, by connection. `after` is what the reader asked for. */
  connections: { after: number; numbers: number[]; wrong: number }[]
  end?: { state: string; code?: string; frames?: number }
}

export interface Decision {
  id: string
  label: string
  asked: 'approve' | 'deny'
  /** As the server said. */
  status: string
  atMs: number
}

export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000
}

export class History {
  readonly calls: ChaosCall[] = []
  readonly streams: Reading[] = []
  readonly decisions: Decision[] = []
  /** The approvals that a person tried to give. */
  readonly approvalsAsked: { id: string; label: string }[] = []
  /** Watches that a client gave up without having seen the end. */
  readonly silences: Silence[] = []
  /** Broken rules that a client saw at once. */
  readonly findings: string[] = []
  readonly operations = new Map<string, number>()
  readonly #uses = new Map<string, number>()
  readonly #firstMs = new Map<string, number>()
  readonly #file: WriteStream

  constructor(file: string) {
    this.#file = createWriteStream(file, { flags: 'a' })
  }

  newCall(call: Omit<ChaosCall, 'sightings' | 'readings' | 'pushed' | 'madeMs'>): ChaosCall {
    const madeMs = this.#firstMs.get(call.label) ?? nowMs()
    this.#firstMs.set(call.label, madeMs)
    const made = { ...call, madeMs, sightings: [], readings: [], pushed: [] }
    this.calls.push(made)
    this.#uses.set(call.requestId, this.usesOf(call.requestId) + 1)
    this.count(call.kind)
    return made
  }

  /** How many callers use this request id. */
  usesOf(requestId: string): number {
    return this.#uses.get(requestId) ?? 0
  }

  count(kind: string): void {
    this.operations.set(kind, (this.operations.get(kind) ?? 0) + 1)
  }

  saw(call: ChaosCall, seen: Seen): void {
    const isPush = seen.via === 'mqtt' || seen.via === 'kafka'
    ;(isPush ? call.pushed : call.sightings).push(seen)
    if (seen.state !== 'missing') call.acknowledged = true
    this.write('saw', { requestId: call.requestId, label: call.label, caller: call.caller, ...seen })
  }

  write(what: string, data: object): void {
    this.#file.write(`${JSON.stringify({ what, atMs: nowMs(), ...data })}\n`)
  }

  find(finding: string): void {
    this.findings.push(finding)
    this.write('finding', { finding })
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#file.end(resolve))
  }
}

export function isEnd({ state }: Sighting): boolean {
  return RANK[state] === RANK.complete
}
