/**
 * Accepts a call of a stream: chooses transport and encoding, records the stream, and starts its handler, or leaves it
 * for the reader that connects with the ticket.
 */
import { ownerKey } from '../../core/call/caller.ts'
import type { Instance, StreamState } from '../../core/call/instance.ts'
import type { Reply } from '../../core/call/reply.ts'
import { Fault } from '../../core/fault.ts'
import type { StreamRules } from '../../core/operation/stream.ts'
import type { FrameChannel, StreamPlace, StreamTransports, StreamWish } from '../../core/ports/frames.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { RecordChange, Store } from '../../core/ports/store.ts'
import type { Admitted } from '../admit/admitted.ts'
import { replyTo } from '../end/replies.ts'
import { hasEnded, watchFor } from '../follow/waiting.ts'
import type { Limits } from '../limits/limits.ts'
import type { Recorder, RunOptions } from '../record/recorder.ts'
import type { Worker } from '../run/worker.ts'
import { chooseEncoding, chooseTransport } from './negotiation.ts'
import { StreamNames } from './stream-names.ts'
import { addingStream } from './stream-sessions.ts'
import type { Subscription } from './subscription.ts'
import type { Subscriptions } from './subscriptions.ts'
import { issueTicket, TICKET_MS } from './tickets.ts'

export interface SubscribingParts {
  env: Environment
  store: Store
  limits: Limits
  worker: Worker
  recorder: Recorder
  streams: Subscriptions
  transports: StreamTransports
  /** `Pipes.here` of this process. */
  here?: string
}

export class Subscribing {
  readonly #parts: SubscribingParts

  constructor(parts: SubscribingParts) {
    this.#parts = parts
  }

  async subscribe(admitted: Admitted, wish: StreamWish, options: RunOptions): Promise<Reply> {
    const { env, store, limits } = this.#parts
    const { operation } = admitted
    if (!options.ours) limits.requireRoom(admitted, false)
    const leave = limits.streams.enter(admitted, operation)
    const names = new StreamNames(env, store, admitted.id)
    let place: StreamPlace | undefined
    let stands = false
    try {
      const stream = await this.#place(admitted, wish, names, (found) => {
        place = found
      })
      const recorded = await this.#record({ ...admitted, stream }, options, names, place?.open)
      stands = recorded.created
      return recorded.reply
    } finally {
      if (stands) this.#leaveAtEnd(admitted.id, leave)
      else {
        leave()
        place?.discard?.()
        names.release()
      }
    }
  }

  async #place(
    admitted: Admitted,
    wish: StreamWish,
    names: StreamNames,
    found: (place: StreamPlace) => void,
  ): Promise<StreamState> {
    const { env, transports, here } = this.#parts
    const { id, operation, call, tenant, owner } = admitted
    const rules = operation.stream as StreamRules
    const transport = chooseTransport(operation, wish, transports)
    const encoding = chooseEncoding(operation, wish)
    const sessionId = call.sessionId ?? env.newId()
    const details = wish.details?.[transport.name]
    const place = await transport.place({
      id,
      requestId: call.requestId,
      sessionId,
      operation: operation.name.full,
      encoding,
      sealed: rules.integrity !== false,
      origin: wish.origin,
      owner: ownerKey(tenant, owner),
      ...(rules.track && { track: rules.track }),
      ...(details && { details }),
      claim: (name) => names.claim(transport.name, name),
    })
    found(place)
    return {
      transport: place.transport ?? transport.name,
      encoding,
      schema: rules.schemaName,
      location: place.location,
      sessionId,
      endsAt: env.clock.now() + operation.ttlSeconds * 1000,
      ...(rules.integrity && { integrity: rules.integrity }),
      ...(place.details && { details: place.details }),
      ...(names.keys.length > 0 && { names: [...names.keys] }),
      ...(!place.open && { awaited: true as const }),
      ...(place.open && here !== undefined && { runsAt: here }),
    }
  }

  async #record(
    admitted: Admitted,
    options: RunOptions,
    names: StreamNames,
    open: StreamPlace['open'],
  ): Promise<{ reply: Reply; created: boolean }> {
    const { env, recorder, worker } = this.#parts
    const { id, tenant, owner, call } = admitted
    const { sessionId } = admitted.stream as StreamState
    const ticket = open ? undefined : issueTicket(env, id)
    const dueAt = env.clock.now() + (open ? worker.leaseMs : TICKET_MS)
    const inSession = addingStream(env, { id, tenant, owner, sessionId, requestId: call.requestId })
    const records: RecordChange[] = [inSession, ...names.keeping()]
    if (ticket) records.push(ticket.record)
    const recorded = await recorder.recordStream(admitted, { state: 'streaming', attempt: 1, dueAt }, records, options)
    if ('standing' in recorded) return { reply: recorded.standing, created: false }
    const { instance } = recorded
    if (open) this.#start(instance, admitted, open)
    const reply = replyTo(instance, 0)
    if (!ticket || reply.state !== 'streaming') return { reply, created: true }
    const { value, expiresAt } = ticket
    return { reply: { ...reply, stream: { ...reply.stream, ticket: { value, expiresAt } } }, created: true }
  }

  /** The handler starts at once, and its first frame waits for the channel. */
  #start(instance: Instance, { operation, parsed }: Admitted, open: NonNullable<StreamPlace['open']>): void {
    const { worker, streams } = this.#parts
    const opening = new Promise<FrameChannel>((resolve) => resolve(open()))
    const connect = (subscription: Subscription) => {
      opening.then(
        (channel) => subscription.attach(channel),
        (thrown) => void worker.stopAttempt(instance.id, Fault.from(thrown)),
      )
    }
    streams.start(worker, instance, operation, connect, { parsed })
  }

  /** Counts the stream until it ends, on this or another node. */
  #leaveAtEnd(id: string, leave: () => void): void {
    const { store } = this.#parts
    const watching = watchFor(store, id, hasEnded)
    const done = () => {
      watching.stop()
      leave()
    }
    void watching.found.then(done)
    store.get(id).then((now) => (!now || hasEnded(now) ? done() : undefined), done)
  }
}
