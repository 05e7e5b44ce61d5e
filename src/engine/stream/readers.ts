/** Connects readers to streams: the first one starts the handler, a later one takes the place of the one before it. */
import { type Caller, ownerOf } from '../../core/call/caller.ts'
import type { Instance } from '../../core/call/instance.ts'
import { Fault } from '../../core/fault.ts'
import type { StreamReader } from '../../core/ports/frames.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { beginStream } from '../end/transitions.ts'
import { hasEnded } from '../follow/waiting.ts'
import type { Registry } from '../registry.ts'
import type { Worker } from '../run/worker.ts'
import type { Subscription } from './subscription.ts'
import type { Subscriptions } from './subscriptions.ts'
import { useTicket } from './tickets.ts'

export interface ReadersParts {
  env: Environment
  store: Store
  registry: Registry
  worker: Worker
  streams: Subscriptions
}

export class Readers {
  readonly #parts: ReadersParts

  constructor(parts: ReadersParts) {
    this.#parts = parts
  }

  /** Throws a fault if the reader may not read this stream, or if the stream has ended or runs on another node. */
  async connect(reader: StreamReader, caller: Caller | undefined): Promise<void> {
    const { env, store, streams } = this.#parts
    const { id, ticket, after } = reader
    const instance = await store.get(id)
    if (ticket !== undefined) await useTicket(env, store.records, ticket, id)
    else if (!isOwner(instance, caller)) throw noStream()
    if (!instance?.extras?.stream || hasEnded(instance)) throw noStream()
    const running = streams.get(id) ?? (await this.#start(instance))
    const { encoding, integrity } = instance.extras.stream
    const stream = { id, requestId: instance.requestId, encoding, sealed: integrity !== undefined }
    running.attach(reader.open(stream), after)
  }

  /** Starts the handler on this node. */
  async #start(seen: Instance): Promise<Subscription> {
    const { env, store, registry, worker, streams } = this.#parts
    const operation = registry.byKey(seen.operation)
    const { awaited, ...stream } = seen.extras?.stream ?? {}
    if (!awaited) throw elsewhere()
    if (!operation?.stream) throw noStream()
    const extras = { ...seen.extras, stream } as NonNullable<Instance['extras']>
    const { applied, instance } = await beginStream(store, seen, env.clock.now() + worker.leaseMs, extras)
    if (!applied || !instance) throw noStream()
    // Two readers of one caller may both have found the stream waiting. The second finds the handler of the first.
    const running = streams.get(seen.id)
    if (running) return running
    const subscription = streams.open(instance, operation, (why) => void worker.stopAttempt(instance.id, why))
    worker.start(instance, operation)
    return subscription
  }
}

function isOwner(instance: Instance | undefined, caller: Caller | undefined): boolean {
  return caller !== undefined && instance?.tenant === caller.tenant && instance.owner === ownerOf(caller)
}

function noStream(): Fault {
  return new Fault('not-found', 'You have no such stream, or it has ended. Subscribe again.')
}

function elsewhere(): Fault {
  return new Fault('unavailable', 'The stream runs on another node of this server. Subscribe again.', {
    code: 'STREAM_ELSEWHERE',
  })
}
