/** Streams on engine nodes with a manual clock: a handler that the test feeds, and readers that the test plays. */
import { jsonSchema, operation } from 'callplane'
import type { Caller } from '../../src/core/call/caller.ts'
import type { Reply } from '../../src/core/call/reply.ts'
import type { OperationDefinition } from '../../src/core/operation/operation.ts'
import type { RunOptions } from '../../src/engine/record/recorder.ts'
import { ADA, type Cluster, Node, type NodeOptions, settled } from '../engine/node.ts'
import { PlayedReader, TICKETED } from './channels.ts'

export const BOB: Caller = { ...ADA, subject: 'bob' }
export const ANY = jsonSchema<number>({})
export const WISH: RunOptions = { stream: (_operation, call) => ({ call, wish: { origin: 'http://test' } }) }

export function nodeWith(
  cluster: Cluster,
  operations: readonly OperationDefinition[],
  more: Partial<NodeOptions> = {},
): Node {
  return new Node(cluster, { operations, transports: TICKETED, ...more })
}

/** Yields what the test pushes, until its signal aborts. */
export function createFeed(rules: { ttlSeconds?: number; concurrency?: number } = {}, stream = {}) {
  const pushed: number[] = []
  const feed = { starts: 0, stops: [] as unknown[], wake: () => {}, push, left: () => pushed.length }
  function push(...frames: number[]) {
    pushed.push(...frames)
    feed.wake()
  }
  const definition = operation('v1:feed.watch', {
    frame: ANY,
    stream,
    ...rules,
    async *run(_args, { signal }) {
      feed.starts++
      signal.addEventListener('abort', () => feed.wake())
      try {
        for (;;) {
          while (pushed.length > 0) yield pushed.shift() as number
          if (signal.aborted) return
          await new Promise<void>((resolve) => {
            feed.wake = resolve
          })
        }
      } finally {
        feed.stops.push(signal.reason?.code ?? signal.reason)
      }
    },
  })
  return { feed, definition }
}

interface Subscribed {
  id: string
  requestId: string
  ticket: string
}

export async function subscribe(
  cluster: Cluster,
  node: Node,
  name = 'v1:feed.watch',
  caller = ADA,
): Promise<Subscribed> {
  const reply = await node.call(name, {}, {}, WISH, caller)
  return subscribedIn(cluster, reply)
}

export async function subscribedIn(cluster: Cluster, reply: Reply): Promise<Subscribed> {
  if (reply.state !== 'streaming') throw new Error(`not streaming: ${JSON.stringify(reply)}`)
  const id = reply.stream.location.split('/').at(-1) as string
  await cluster.store.get(id)
  return { id, requestId: reply.requestId, ticket: reply.stream.ticket?.value ?? '' }
}

export async function read(
  node: Node,
  { id, ticket }: Pick<Subscribed, 'id' | 'ticket'>,
  room?: number,
): Promise<PlayedReader> {
  const reader = new PlayedReader(room)
  await node.calls.readStream(undefined, reader.connecting(id, { ticket }))
  await settled()
  return reader
}
