/** Load of every kind, at a steady rate, however many calls are unfinished. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Brokers } from './brokers.ts'
import { CALLERS, type Subject } from './callers.ts'
import { pursueGrant } from './grants.ts'
import { follow, type HttpKind, pursueHttp } from './http-calls.ts'
import type { Site } from './site.ts'
import { pursueSocket } from './sockets.ts'
import { pursueStream } from './streams.ts'

export type LoadKind = HttpKind | 'look' | 'grant' | 'sse' | 'websocket' | 'socket' | 'mqtt' | 'kafka'

/** Kinds by their share. */
const SHARES: Readonly<Record<LoadKind, number>> = {
  work: 20,
  brief: 8,
  charge: 14,
  order: 8,
  export: 8,
  held: 6,
  grant: 3,
  deferred: 6,
  look: 6,
  sse: 2,
  websocket: 2,
  socket: 8,
  mqtt: 8,
  kafka: 8,
}

/** More unfinished clients than this would only measure this process. */
const MOST_CLIENTS = 400

export interface LoadOptions {
  site: Site
  brokers: Brokers
  has: { mqtt: boolean; kafka: boolean }
  perSecond: number
  signal: AbortSignal
}

/** Resolves when the signal is given and all clients are done. */
export async function applyLoad({ site, brokers, has, perSecond, signal }: LoadOptions): Promise<void> {
  const kinds = (Object.entries(SHARES) as [LoadKind, number][])
    .filter(([kind]) => (kind !== 'mqtt' || has.mqtt) && (kind !== 'kafka' || has.kafka))
    .flatMap(([kind, share]) => Array<LoadKind>(share).fill(kind))
  const clients = new Set<Promise<void>>()
  const failures: unknown[] = []
  while (!signal.aborted && failures.length === 0) {
    const kind = kinds[site.random(kinds.length)] as LoadKind
    const client = pursue(site, brokers, kind)
      .catch((thrown) => void failures.push(thrown))
      .finally(() => clients.delete(client))
    clients.add(client)
    await pause((2 * site.random(1_000)) / perSecond)
    while (clients.size >= MOST_CLIENTS && !signal.aborted) await pause(100)
  }
  await Promise.all(clients)
  // A client that throws is a fault of this program, not of the cluster.
  if (failures.length > 0) throw failures[0]
}

async function pursue(site: Site, brokers: Brokers, kind: LoadKind): Promise<void> {
  switch (kind) {
    case 'look':
      return look(site)
    case 'grant':
      return pursueGrant(site)
    case 'sse':
    case 'websocket':
      return pursueStream(site, kind)
    case 'socket':
      return pursueSocket(site)
    case 'mqtt':
    case 'kafka':
      return followBroker(site, brokers, kind)
    default:
      return pursueHttp(site, kind)
  }
}

/** So long a caller waits for a reply, unless the operation says otherwise. */
const MAX_SYNC_MS = 5_000

/** A call that needs no store must work without one. */
async function look(site: Site): Promise<void> {
  const label = site.newLabel('look')
  const caller = CALLERS[site.random(CALLERS.length)] as Subject
  site.history.count('look')
  const heard = await site.post(caller, '/call', { op: 'v1:Chaos.Look', args: { label, ms: 5 } })
  if (!heard || (heard.status === 200 && (heard.body.result as { label?: string })?.label === label)) return
  // A node was paused for longer than a caller waits for a reply.
  if (heard.status === 202 && heard.heardMs - heard.sentMs > MAX_SYNC_MS) return
  // A node that ends refuses everything.
  if (heard.status === 503 && !/STORAGE/.test(heard.body.error?.code ?? '')) return
  site.history.find(`${label} needs no store and got ${heard.status} ${JSON.stringify(heard.body.error)}`)
}

async function followBroker(site: Site, brokers: Brokers, via: 'mqtt' | 'kafka'): Promise<void> {
  const call = await brokers.send(via)
  // The request may still wait at the broker, so that no node knows it yet.
  while (!site.isOver && !call.sightings.some(({ state }) => state !== 'missing')) {
    await follow(site, call)
    await site.rest(500)
  }
  if (!site.isOver) await follow(site, call)
}
