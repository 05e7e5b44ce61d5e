/** The worker's side of the connection to the hub: the store, the shared counts, and messages to the other workers. */
import type { Duplex } from 'node:stream'
import type { BucketRules } from '../../core/fairness/buckets.ts'
import { SharedSets } from '../../core/fairness/shared-sets.ts'
import { type Counts, Tally } from '../../core/fairness/tally.ts'
import { Fault, type FaultRecord } from '../../core/fault.ts'
import type { NodeFacts, NodeInfo } from '../../core/ports/nodes.ts'
import type { Pipes, SharedLimits, SharedLimitsListener, Siblings } from '../../core/ports/peers.ts'
import type { Clock, Log } from '../../core/ports/runtime.ts'
import type { NodeEnds, Store } from '../../core/ports/store.ts'
import type { Worker } from '../../engine/run/worker.ts'
import { type Channel, createChannel, createStoreClient } from '../../stores/hub/index.ts'
import { createPipes } from './pipes.ts'

/** Too short for a person to notice. It wakes an idle process at most a hundred times a second. */
export const COUNTS_DELAY_MS = 10

export interface WorkerLink {
  /** Starts at 1. */
  readonly number: number
  readonly limits: SharedLimits
  readonly siblings: Siblings
  readonly pipes: Pipes
  openStore(file: string, log: Log, acceptLoss?: boolean): Promise<Store>
  /** Wakes this worker when calls of an ended one are due. */
  connect(worker: Pick<Worker, 'wake'>): void
  /** For a store on which every process is a node: this process takes over from processes that have ended. */
  takeOver(ends: NodeEnds): void
  /** Metrics of all processes. */
  metrics(own: () => string): () => Promise<string>
  /** Lists all processes of this server. */
  nodes(own: () => NodeFacts): () => Promise<readonly NodeInfo[]>
  /** Reports that the server takes calls. `message` is for the process that started it. */
  started(message: string): void
  /** Sends the final counts after the server has closed, so that they stay in the totals. */
  leave(): Promise<void>
  /** Resolves when the hub asks this process to finish its work and end. */
  readonly stopped: Promise<void>
  /** Resolves when the hub has ended: nothing can be stored any more. */
  readonly lost: Promise<void>
}

export function openLink(stream: Duplex, number: number, clock: Clock): WorkerLink {
  const channel = createChannel(stream)
  const stopped = Promise.withResolvers<void>()
  let lastMetrics = () => ''
  channel.on('stop', () => stopped.resolve())
  return {
    number,
    limits: shareLimits(channel, clock),
    siblings: reachSiblings(channel),
    pipes: createPipes(channel),
    async openStore(file, log, acceptLoss = false) {
      await channel.ask('open', [file, acceptLoss])
      return createStoreClient(channel, { clock, log })
    },
    connect(worker) {
      channel.on('due', () => worker.wake())
    },
    takeOver(ends) {
      channel.on('ended', (node: number) => ends.ended(node).then(() => true))
      ends.tellNumber((node) => channel.tell('node', node))
    },
    metrics(own) {
      channel.on('metrics', own)
      lastMetrics = own
      return () => channel.ask('gather', [own()])
    },
    nodes(own) {
      const info = (): NodeInfo => ({ node: number, facts: own() })
      channel.on('about', info)
      return () => channel.ask('nodes', [info()])
    },
    started: (message) => channel.tell('started', message),
    leave: () => channel.ask<void>('lastMetrics', [lastMetrics()]).catch(withoutHub),
    stopped: stopped.promise,
    lost: channel.closed,
  }
}

/** The hub's counts are lost with it, so there is nothing to send. */
function withoutHub(): void {}

function shareLimits(channel: Channel, clock: Clock): SharedLimits {
  const tally = new Tally(clock, COUNTS_DELAY_MS, (...counts) => channel.tell('counts', ...counts))
  let listener: SharedLimitsListener | undefined
  channel.on('counts', (...[open, queued]: Counts) => listener?.counted(open, queued))
  channel.on('kept', (operation: string) => listener?.kept(operation))
  return {
    takeToken: (bucket: BucketRules, key) => channel.ask('token', [bucket, key]),
    enter: (operation, most, waits) => channel.ask('enter', [operation, most, waits]),
    entered: (operation) => channel.tell('entered', operation),
    leave: (operation) => channel.tell('leave', operation),
    counted: (who, calls) => tally.add(who, calls),
    listen(given) {
      listener = given
    },
  }
}

function reachSiblings(channel: Channel): Siblings {
  const sets = new SharedSets((name, value) => channel.tell('relay', 'added', name, value))
  channel.on('added', (name: string, value: string) => sets.added(name, value))
  return {
    stop: (id, why) => channel.tell('relay', 'stopCall', id, why.toRecord()),
    listen(stop) {
      channel.on('stopCall', (id: string, why: FaultRecord) => stop(id, Fault.fromRecord(why)))
    },
    anyoneElse(topic, here) {
      channel.on(topic, here)
      return (about) => channel.ask('anyone', [topic, about])
    },
    sharedSet: (name) => sets.share(name),
  }
}
