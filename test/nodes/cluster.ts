/** Nodes with links between them, and without a database: the test keeps the list of nodes. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { JsonValue } from '../../src/core/json.ts'
import type { Pipe, PipeMessage } from '../../src/core/ports/peers.ts'
import type { Clock } from '../../src/core/ports/runtime.ts'
import { systemClock } from '../../src/server/build/environment.ts'
import { Links } from '../../src/stores/postgres/links/links.ts'
import { AboutNode } from '../../src/stores/postgres/nodes/about-node.ts'
import { createMemoryLog, type LogLine } from '../../src/testing/fakes/memory-log.ts'

export interface LinkedNode {
  links: Links
  /** What it tells the others. The test may change it. */
  about: Record<string, JsonValue>
  port: number
  logged: LogLine[]
}

export class LinkedCluster {
  readonly #nodes: LinkedNode[] = []

  async add(clock: Clock = systemClock): Promise<LinkedNode> {
    const told = new AboutNode()
    const logged: LogLine[] = []
    const nodes = async () => this.#nodes.map(({ about }, node) => ({ node, about, aliveUntil: 0 }))
    const links = new Links({ options: {}, about: told, nodes, clock, log: createMemoryLog(logged) })
    await links.listen('127.0.0.1')
    onTestFinished(() => links.close())
    const about = JSON.parse(told.encode())
    const node = { links, about, port: Number(about.address.split(':').at(-1)), logged }
    this.#nodes.push(node)
    return node
  }

  /** The node is not listed any more. */
  remove(node: LinkedNode): void {
    this.#nodes.splice(this.#nodes.indexOf(node), 1)
  }
}

/** The end of a pipe, with what it has received. */
export class PipeEnd {
  readonly pipe: Pipe
  readonly received: PipeMessage[] = []
  #news = Promise.withResolvers<void>()

  constructor(pipe: Pipe) {
    this.pipe = pipe
    pipe.receive((message) => {
      this.received.push(message)
      this.#news.resolve()
      this.#news = Promise.withResolvers()
    })
  }

  async count(messages: number): Promise<PipeMessage[]> {
    while (this.received.length < messages) await this.#news.promise
    return this.received
  }

  async closed(): Promise<void> {
    if (!this.pipe.signal.aborted) await once(this.pipe.signal, 'abort')
  }
}

/** Accepts every pipe. The ends are listed in the order of their opening. */
export function acceptAll({ links }: LinkedNode): PipeEnd[] {
  const ends: PipeEnd[] = []
  links.accept(async (_about, pipe) => {
    ends.push(new PipeEnd(pipe))
    return true
  })
  return ends
}

export async function openPipe(from: LinkedNode, to: LinkedNode, about = 'stream'): Promise<PipeEnd> {
  const pipe = await from.links.open(about, to.links.here)
  if (!pipe) throw new Error('The pipe was not opened.')
  return new PipeEnd(pipe)
}

export interface Middle {
  /** Connections since the start. */
  connections: number
  /** Passes no more bytes, in both directions. The connections stay open. */
  silence(): void
  cut(): void
}

/** Puts a proxy in front of the node, and lets it advertise the proxy. */
export async function putInFront(node: LinkedNode): Promise<Middle> {
  const sockets: Socket[] = []
  const middle: Middle = {
    connections: 0,
    silence() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
  }
  const server = createServer((near) => {
    const far = connect(node.port, '127.0.0.1')
    middle.connections++
    sockets.push(near, far)
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    middle.cut()
    server.close()
  })
  node.about = { ...node.about, address: `127.0.0.1:${(server.address() as { port: number }).port}` }
  return middle
}
