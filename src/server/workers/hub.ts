/**
 * The central process of a server with several workers. It owns the store and counts what the workers share, but runs
 * no calls. It knows no operation and no protocol, so that application code cannot stop it.
 */
import type { Duplex } from 'node:stream'
import { type BucketRules, Buckets } from '../../core/fairness/buckets.ts'
import { type Counts, Tally } from '../../core/fairness/tally.ts'
import { Fault } from '../../core/fault.ts'
import type { NodeInfo } from '../../core/ports/nodes.ts'
import type { Clock } from '../../core/ports/runtime.ts'
import type { Store } from '../../core/ports/store.ts'
import { within } from '../../core/within.ts'
import { type Channel, createChannel, createStoreServer, type StoreServer } from '../../stores/hub/index.ts'
import { createSqliteStore } from '../../stores/sqlite/index.ts'
import { createLog, createMetrics, type LogOptions, registerProcessReadings } from '../../telemetry/index.ts'
import { createFailureLog } from './failure-log.ts'
import { COUNTS_DELAY_MS } from './link.ts'
import { MetricsBook } from './metrics-book.ts'
import { NodeBook } from './node-book.ts'
import { PipeBook } from './pipe-book.ts'
import { SlotBook } from './slot-book.ts'

export interface Hub {
  /**
   * Serves a worker process over this stream until the worker ends. `ended` resolves when the process has certainly
   * ended. Default: when the stream is closed.
   */
  attach(stream: Duplex, ended?: Promise<unknown>): AttachedWorker
  /** Call it after all workers have ended. */
  close(): Promise<void>
}

export interface AttachedWorker {
  /** Resolves with the worker's message when it takes calls. */
  readonly started: Promise<string>
  /** Asks the worker to finish its work and end. */
  stop(): void
}

/** About as long as a disk takes to sync. */
const GATHER_MS = 1
/** How long to wait for a worker's reply. A busy or hanging worker must not block the others. */
const PATIENCE_MS = 1_000

/** Logs nothing by default. Log lines have worker number 0. */
export function createHub(clock: Clock, logging: LogOptions = { level: 'silent' }): Hub {
  const log = createLog(logging).child({ worker: 0 })
  /** Each worker with the counts of the others that it has not received yet. */
  const workers = new Map<Channel, Tally>()
  const leaving = new Set<Promise<void>>()
  const slots = new SlotBook()
  const pipes = new PipeBook(askBriefly)
  const nodeBook = new NodeBook(askBriefly)
  const buckets = new Map<string, Buckets>()
  const metrics = createMetrics()
  const readings = registerProcessReadings(metrics)
  const book = new MetricsBook(() => metrics.render())
  let kept: { file: string; store: Store; server: StoreServer } | undefined

  function openStore(file: string, acceptLoss: boolean): StoreServer {
    if (!kept) {
      const store = createSqliteStore({ file, clock, log, gatherMs: GATHER_MS, acceptLoss })
      kept = { file, store, server: createStoreServer(store, createFailureLog(log)) }
    }
    if (kept.file === file) return kept.server
    throw new Fault(
      'malformed',
      `One worker uses ${kept.file}, another uses ${file}. Configure one data folder for all workers.`,
    )
  }

  function others(of: Channel): Channel[] {
    return [...workers.keys()].filter((other) => other !== of)
  }

  function bucketsOf(rules: BucketRules): Buckets {
    const key = `${rules.capacity} ${rules.msPerToken}`
    const found = buckets.get(key) ?? new Buckets(rules, clock)
    buckets.set(key, found)
    return found
  }

  /** `undefined` if the worker has ended, has not started, or does not reply in time. */
  function askBriefly<T>(other: Channel, name: string, args: readonly unknown[]): Promise<T | undefined> {
    const answer = other.ask<T>(name, args).catch(() => undefined)
    return within(clock, PATIENCE_MS, answer)
  }

  async function anyone(asking: Channel, topic: string, about: string): Promise<boolean> {
    const answers = others(asking).map((other) => askBriefly<boolean>(other, topic, [about]))
    return (await Promise.all(answers)).includes(true)
  }

  async function gatherMetrics(asking: Channel, own: string): Promise<string> {
    book.note(asking, own)
    const noted = others(asking).map(async (other) => {
      const text = await askBriefly<string>(other, 'metrics', [])
      // Otherwise the worker's last report counts.
      if (text !== undefined && workers.has(other)) book.note(other, text)
    })
    await Promise.all(noted)
    return book.render()
  }

  async function listNodes(asking: Channel, own: NodeInfo): Promise<readonly NodeInfo[]> {
    const told = await Promise.all(others(asking).map((other) => askBriefly<NodeInfo>(other, 'about', [])))
    const schema = kept?.store.schema
    return [own, ...told.filter((info) => info !== undefined)]
      .map((info) => ({ ...info, ...(schema !== undefined && { schema }) }))
      .sort((a, b) => a.node - b.node)
  }

  return {
    attach(stream, ended) {
      const channel = createChannel(stream)
      const started = Promise.withResolvers<string>()
      const holder = { kept: (operation: string) => channel.tell('kept', operation) }
      const counts = new Tally(clock, COUNTS_DELAY_MS, (...told) => channel.tell('counts', ...told))
      let stored: Promise<boolean> | undefined
      workers.set(channel, counts)
      channel.on('open', (file: string, acceptLoss: boolean) => {
        stored ??= openStore(file, acceptLoss).serve(channel)
      })
      channel.on('started', started.resolve)
      channel.on('relay', (topic: string, ...args: unknown[]) => {
        for (const other of others(channel)) other.tell(topic, ...args)
      })
      channel.on('anyone', (topic: string, about: string) => anyone(channel, topic, about))
      channel.on('token', (rules: BucketRules, key: string) => bucketsOf(rules).take(key))
      channel.on('enter', (operation: string, most: number, waits: boolean) =>
        slots.enter(holder, operation, most, waits),
      )
      channel.on('entered', (operation: string) => slots.entered(holder, operation))
      channel.on('leave', (operation: string) => slots.leave(holder, operation))
      channel.on('counts', (...[open, queued]: Counts) => {
        for (const [other, tally] of workers) {
          if (other === channel) continue
          for (const [tenant, owner, calls] of open) tally.add({ tenant, owner }, calls)
          if (queued !== 0) tally.add(undefined, queued)
        }
      })
      pipes.serve(channel)
      nodeBook.serve(channel)
      channel.on('lastMetrics', (own: string) => book.note(channel, own))
      channel.on('gather', (own: string) => gatherMetrics(channel, own))
      channel.on('nodes', (own: NodeInfo) => listNodes(channel, own))
      const left = channel.closed.then(async () => {
        workers.delete(channel)
        book.leave(channel)
        slots.leaveAll(holder)
        pipes.leave(channel)
        try {
          await stored
        } catch (err) {
          log.error({ err }, 'could not release the calls of an ended worker; they are due when their leases expire')
        }
        // Its calls are due now: wake the other workers instead of waiting for their next poll.
        for (const other of workers.keys()) other.tell('due')
        await ended
        await nodeBook.leave(channel)
      })
      leaving.add(left)
      void left.finally(() => leaving.delete(left))
      return { started: started.promise, stop: () => channel.tell('stop') }
    },
    async close() {
      await Promise.all(leaving)
      readings[Symbol.dispose]()
      await kept?.store.close()
    },
  }
}
