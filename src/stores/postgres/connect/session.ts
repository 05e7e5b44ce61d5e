/** One connection to Postgres: it opens on first use, gives up on silence, and can be opened again after a loss. */
import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import type { Client, ClientConfig, QueryConfig, QueryResult } from 'pg'
import { type Address, serverName } from './address.ts'
import type { Driver } from './driver.ts'
import { ConnectFailed } from './failures.ts'

/** Named by its text, so that each connection parses and plans it once. */
export interface Statement {
  readonly text: string
  readonly name: string
}

export interface Rows<R> {
  rows: R[]
  /** Rows that were changed or returned. */
  count: number
}

/** What a batch or a transaction uses. */
export interface Session {
  query<R = unknown>(statement: Statement, values?: readonly unknown[]): Promise<Rows<R>>
}

export interface SessionOptions {
  driver: Driver
  address: Address
  /** Between us and the server is a pooler that gives every transaction another server connection. */
  pooled: boolean
  connectMs: number
  /** How long the server works on one statement. */
  statementMs: number
}

/** The server ends a statement before this side gives up on the connection. */
const SILENCE_FACTOR = 2

/**
 * The statements reach rows by their indexes only. A plan that reads a whole table is never right, and the planner,
 * which sees a queue table when it is empty, would choose one.
 */
const SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  default_transaction_isolation: 'read\\ committed',
}

const BIGINT = 20

/** A connection that is cut off while it opens says nothing about the next one. So it is tried again, if it was quick. */
const MOST_TRIES = 3
const QUICK_MS = 1_000

/**
 * Each generation has its own statements, and the server keeps the plans of a connection until it ends. So a connection
 * with this many is replaced.
 */
const MOST_STATEMENTS = 500

export function statement(text: string): Statement {
  return { text, name: createHash('sha256').update(text).digest('base64url').slice(0, 20) }
}

export class Connection implements Session {
  readonly #options: SessionOptions
  readonly #lost: () => void
  #client: Client | undefined
  readonly #prepared = new Set<string>()
  #socket: Socket | undefined
  #onNotice: ((channel: string, payload: string) => void) | undefined

  /** `lost` is called when an open connection ends without `close`. */
  constructor(options: SessionOptions, lost: () => void = () => {}) {
    this.#options = options
    this.#lost = lost
  }

  get isOpen(): boolean {
    return this.#client !== undefined
  }

  /** The address of this machine that the connection uses. `undefined` for a socket in the file system. */
  get localAddress(): string | undefined {
    return this.#socket?.localAddress
  }

  onNotice(listener: (channel: string, payload: string) => void): void {
    this.#onNotice = listener
  }

  /** Tries the hosts in order. Throws `ConnectFailed` if none is a primary that accepts us. */
  async open(): Promise<void> {
    if (this.#prepared.size > MOST_STATEMENTS) await this.close()
    if (this.#client) return
    this.#prepared.clear()
    const beganMs = performance.now()
    let failure: unknown
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      for (const host of this.#options.address.hosts) {
        try {
          await this.#openAt(host)
          return
        } catch (thrown) {
          failure = thrown
          this.destroy()
        }
      }
      if (performance.now() - beganMs > QUICK_MS) break
    }
    throw new ConnectFailed(failure)
  }

  async query<R>(what: Statement, values: readonly unknown[] = []): Promise<Rows<R>> {
    const client = this.#client
    if (!client) throw new Error('The connection is closed.')
    const { pooled, statementMs } = this.#options
    const silence = setTimeout(() => this.destroy(), statementMs * SILENCE_FACTOR)
    try {
      const named = pooled ? {} : { name: what.name }
      if (!pooled) this.#prepared.add(what.name)
      const { rows, rowCount } = await send(client, { ...named, text: what.text, values: values as unknown[] })
      return { rows: rows as R[], count: rowCount ?? 0 }
    } catch (thrown) {
      // The stack of the driver's error ends at the socket. This one shows who sent the statement.
      if (thrown instanceof Error) Error.captureStackTrace(thrown)
      throw thrown
    } finally {
      clearTimeout(silence)
    }
  }

  /** Ends the connection at once. A statement under way fails. */
  destroy(): void {
    this.#client = undefined
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client?.end().catch(() => undefined)
    this.#socket = undefined
  }

  async #openAt(host: Address['hosts'][number]): Promise<void> {
    const client = new this.#options.driver.Client(this.#configFor(host))
    const gone = () => {
      if (this.#client !== client) return
      this.destroy()
      this.#lost()
    }
    client.on('error', gone)
    client.on('end', gone)
    client.on('notification', ({ channel, payload = '' }) => this.#onNotice?.(channel, payload))
    await client.connect()
    const { rows } = await client.query('SELECT pg_is_in_recovery() AS standby')
    // After a failover, the old primary may come back as a standby. Reads from it would be old.
    if (rows[0]?.standby) throw new Error(`${host.host}:${host.port} is a standby and not the primary.`)
    this.#client = client
  }

  #configFor({ host, port }: Address['hosts'][number]): ClientConfig {
    const { address, pooled, connectMs, statementMs, driver } = this.#options
    const settings = { ...SETTINGS, statement_timeout: String(statementMs) }
    const options = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
    return {
      host,
      port,
      ...(address.user !== undefined && { user: address.user }),
      ...(address.password !== undefined && { password: address.password }),
      ...(address.database !== undefined && { database: address.database }),
      ssl: address.tls ? { ...address.tls, ...serverName(host) } : false,
      application_name: 'callplane',
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      // A pooler refuses settings of a session, because sessions are shared.
      ...(!pooled && { options: options.join(' ') }),
      // Our own socket, because the driver cannot end a connection that is silent.
      stream: () => (this.#socket = new Socket()),
      types: {
        // Times are whole milliseconds, which a number holds exactly.
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === BIGINT ? Number : driver.types.getTypeParser(oid, format as 'text'),
      },
    }
  }
}

/**
 * With a callback and not with the driver's promise. For that, the driver assigns a function literal to a property, and
 * V8 allocates such a function in the old generation. It holds the statement, its values and its result, so they all
 * survived the collections of the young generation: 1.2 kB of each statement.
 */
function send(client: Client, query: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    client.query(query, (failure: Error | null, result) => (failure ? reject(failure) : resolve(result)))
  })
}

const BEGIN = statement('BEGIN')
const COMMIT = statement('COMMIT')
const ROLLBACK = statement('ROLLBACK')

export interface Decided<T> {
  commit: boolean
  value: T
}

/** Commits if `work` says so. If `work` throws, the transaction is rolled back. */
export async function transaction<T>(session: Session, work: () => Promise<Decided<T>>): Promise<T> {
  await session.query(BEGIN)
  let decided: Decided<T>
  try {
    decided = await work()
  } catch (thrown) {
    // If the connection is gone, so is the transaction. The first error says why.
    await session.query(ROLLBACK).catch(() => undefined)
    throw thrown
  }
  await session.query(decided.commit ? COMMIT : ROLLBACK)
  return decided.value
}
