/**
 * A broker in memory that outlives the servers: it offers a request until it is acknowledged, and keeps what is published.
 * Each message that reaches it is a point at which the server may end.
 */
import type { OperationDefinition } from '../../../src/core/operation/operation.ts'
import { LateSending } from '../../../src/engine/owed/late-replies.ts'
import { createOpenCallSessions, lateMessage } from '../../../src/protocols/opencall/index.ts'
import type { ResponseEnvelope } from '../../../src/protocols/opencall/wire.ts'
import { createRunEnvironment } from '../../../src/testing/run-operation/run-environment.ts'
import { Link } from '../../../src/wire/messages/link.ts'
import { ADA, type Cluster, Node, settled } from '../../engine/node.ts'
import { type Death, mortalStore } from './death.ts'

export interface BrokerRequest {
  envelope: { op: string; args?: object; ctx: { requestId: string; idempotencyKey?: string } }
  /** The address of its caller. */
  place: string
  isAcknowledged?: boolean
}

export class MemoryBroker {
  readonly requests: readonly BrokerRequest[]
  readonly published: { place: string; envelope: ResponseEnvelope }[] = []

  constructor(requests: readonly BrokerRequest[]) {
    this.requests = requests
  }

  publish(place: unknown, message: unknown): void {
    this.published.push({ place: String(place), envelope: JSON.parse(String(message)) })
  }
}

const ORIGIN = 'http://a.example'
const CARRIER = 'memory'

/** Serves the requests on one server until it ends, or until a few minutes have passed. */
export async function live(
  cluster: Cluster,
  broker: MemoryBroker,
  death: Death,
  operations: readonly OperationDefinition[],
): Promise<void> {
  const { store } = cluster
  cluster.store = mortalStore(store, death)
  const node = new Node(cluster, { operations })
  const env = createRunEnvironment([], cluster.clock)
  const open = createOpenCallSessions({
    calls: node.calls,
    env,
    transports: { get: () => undefined, names: () => [] },
    identify: () => () => ADA,
    settings: { strict: false, redelivers: true },
  })
  const late = new LateSending({ env, store: cluster.store, owed: node.engine.owed })
  late.add(CARRIER, ({ name }, reply) =>
    death.write('publish late', async () => broker.publish(name, lateMessage(reply, ORIGIN))),
  )
  node.engine.worker.wake()
  for (const request of broker.requests) {
    if (request.isAcknowledged) continue
    const link = new Link({
      open,
      peer: { header: () => undefined },
      origin: ORIGIN,
      limits: { maxBytes: 10_000, maxInFlight: 10 },
      log: env.log,
      replyTo: { carrier: CARRIER, place: { name: request.place } },
      flushed: () => true,
      transmit: (message) => death.write('publish', async () => broker.publish(request.place, message)),
    })
    void Promise.resolve(link.receive(JSON.stringify(request.envelope))).then((isTaken) => {
      if (!isTaken) return
      void death.write('acknowledge', async () => {
        request.isAcknowledged = true
      })
    })
    await settled()
  }
  for (let turn = 0; turn < 200 && !death.isDead; turn++) {
    await settled()
    // Small steps first, because handlers take a second. Leases and the hold of late replies take longer.
    cluster.clock.advance(turn < 100 ? 50 : 1_000)
  }
  node.kill()
  // A process that has ended does not finish its work.
  if (death.isDead) await death.happened
  else await late.stop()
  cluster.store = store
}
