/**
 * The pipes between the nodes of a store. A link to a node is opened when a pipe to it is needed, carries the pipes of
 * both directions, and is closed when it is idle.
 */
import type { TLSSocket } from 'node:tls'
import { Fault } from '../../../core/fault.ts'
import type { Pipe, Pipes } from '../../../core/ports/peers.ts'
import type { Clock, Log } from '../../../core/ports/runtime.ts'
import { within } from '../../../core/within.ts'
import type { AboutNode } from '../nodes/about-node.ts'
import type { NodeRow } from '../nodes/membership.ts'
import { dial } from './dial.ts'
import { formatHostPort } from './host-port.ts'
import { LinkKey } from './keys.ts'
import { Link } from './link.ts'
import { Listener } from './listener.ts'
import { ADDRESS, KEY, type Neighbour, Neighbours } from './neighbours.ts'

/** Where other nodes reach this one. */
export interface LinkOptions {
  /** The address to listen at. Default: the address from which this node reaches the database. */
  host?: string
  /** Default: a free port. */
  port?: number
  /** The host that other nodes connect to, at the same port. Default: `host`. */
  advertise?: string
}

export interface LinksParts {
  options: LinkOptions
  about: AboutNode
  /** Reads the living nodes. */
  nodes(): Promise<readonly NodeRow[]>
  clock: Clock
  log: Log | undefined
}

const CONNECT_MS = 5_000
/** Addresses that cannot be reached and were logged. */
const MOST_TOLD = 1_000
const LOOPBACK = '127.0.0.1'
const ANY_ADDRESS = ['0.0.0.0', '::']

export class Links implements Pipes {
  readonly #parts: LinksParts
  readonly #key = new LinkKey()
  readonly #neighbours: Neighbours
  readonly #listener: Listener
  readonly #links = new Map<string, Link>()
  readonly #dialing = new Map<string, Promise<Link | undefined>>()
  readonly #told = new Set<string>()
  #accepts: Parameters<Pipes['accept']>[0] = async () => false
  #closed = false

  constructor(parts: LinksParts) {
    this.#parts = parts
    this.#neighbours = new Neighbours(parts.nodes, parts.clock)
    this.#listener = new Listener({
      key: this.#key,
      isNode: async (name) => (await this.#neighbours.find(name)) !== undefined,
      accepted: (name, socket) => void this.#add(name, socket, false),
      log: parts.log,
    })
  }

  get here(): string {
    return this.#key.name
  }

  /** Listens, and tells the other nodes where. The local address is the one that reaches the database. */
  async listen(localAddress: string | undefined): Promise<void> {
    const { options, about } = this.#parts
    const ownHost = (localAddress ?? LOOPBACK).replace(/^::ffff:/, '')
    const host = options.host ?? ownHost
    const port = await this.#listener.listen(host, options.port ?? 0).catch((thrown) => {
      throw cannotListen(formatHostPort({ host, port: options.port ?? 0 }), thrown)
    })
    const reached = options.advertise ?? (ANY_ADDRESS.includes(host) ? ownHost : host)
    const address = formatHostPort({ host: reached, port })
    about.tell(ADDRESS, () => address)
    about.tell(KEY, () => this.#key.name)
  }

  accept(accepts: Parameters<Pipes['accept']>[0]): void {
    this.#accepts = accepts
  }

  async open(about: string, at: string): Promise<Pipe | undefined> {
    if (at === this.here) return undefined
    // A link may close while the question is under way, because it was idle. A new one does not.
    for (let tries = 0; tries < 2 && !this.#closed; tries++) {
      const open = this.#links.get(at)
      const link = open?.isOpen ? open : await this.#dial(at)
      if (!link) return undefined
      const pipe = await link.open(about)
      if (pipe || link.isOpen) return pipe
    }
    return undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    const links = [...this.#links.values()]
    for (const link of links) link.close()
    await within(this.#parts.clock, CONNECT_MS, Promise.all(links.map(({ over }) => over)))
    for (const link of links) link.destroy()
    await this.#listener.close()
  }

  /** Readers that come at the same time wait for one connection. */
  #dial(at: string): Promise<Link | undefined> {
    const dialing = this.#dialing.get(at) ?? this.#dialNow(at).finally(() => this.#dialing.delete(at))
    this.#dialing.set(at, dialing)
    return dialing
  }

  async #dialNow(at: string): Promise<Link | undefined> {
    let neighbour: Neighbour | undefined
    try {
      neighbour = await this.#neighbours.find(at)
      if (!neighbour) return undefined
      const link = this.#add(at, await dial(this.#key, neighbour, CONNECT_MS), true)
      if (!(await within(this.#parts.clock, CONNECT_MS, link.ready))) {
        link.destroy()
        throw new Error('The node refuses the link.')
      }
      this.#told.delete(addressOf(neighbour))
      return link
    } catch (err) {
      this.#tell(neighbour, err)
      return undefined
    }
  }

  #add(name: string, socket: TLSSocket, dialed: boolean): Link {
    const { clock, log } = this.#parts
    const link = new Link({ socket, dialed, clock, log, accepts: (about, pipe) => this.#accepts(about, pipe) })
    this.#links.set(name, link)
    void link.over.then(() => {
      if (this.#links.get(name) === link) this.#links.delete(name)
    })
    if (this.#closed) link.destroy()
    return link
  }

  #tell(neighbour: Neighbour | undefined, err: unknown): void {
    const { log } = this.#parts
    if (!neighbour) log?.debug({ err }, 'could not look for another node')
    const address = neighbour && addressOf(neighbour)
    if (address === undefined || this.#told.has(address)) return
    if (this.#told.size >= MOST_TOLD) this.#told.clear()
    this.#told.add(address)
    log?.warn(
      { address, err },
      'cannot connect to another node; a reader here of a stream there gets 503 STREAM_ELSEWHERE. Open this TCP address ' +
        'to all nodes, or set store.peers or --node-address on the other node',
    )
  }
}

function addressOf({ host, port }: Neighbour): string {
  return formatHostPort({ host, port })
}

function cannotListen(address: string, cause: unknown): Fault {
  const message = `Cannot listen at ${address} for the other nodes. Set store.peers or --node-address to another address, or store.peers to false.`
  return new Fault('unavailable', message, { code: 'PEERS_ADDRESS_UNAVAILABLE', cause })
}
