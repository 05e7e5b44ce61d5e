/**
 * A primary and its synchronous standby. Nodes know two places, and the primary is at one of them. A failover promotes
 * the standby, discards the old primary, and makes a new standby at its place.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../engines/free-port.ts'
import { type Postgres, startPostgres } from '../../engines/postgres.ts'
import type { SmallDisk } from './disk.ts'
import { type Link, openLink } from './link.ts'

export interface DatabaseOptions {
  disk: SmallDisk
  /** Commits do not wait for the standby, and what it gets comes late. A defect, see defects.ts. */
  standbyLagsMs?: number
  say(line: string): void
}

const SETTINGS = {
  max_connections: '300',
  max_wal_size: '64MB',
  min_wal_size: '32MB',
  wal_keep_size: '128MB',
  wal_receiver_status_interval: '1',
  wal_retrieve_retry_interval: '100ms',
  // A silent connection of a node must not hold locks for hours.
  tcp_keepalives_idle: '5',
  fsync: 'on',
}

export class Database {
  readonly #options: DatabaseOptions
  readonly #places: (Postgres | undefined)[] = [undefined, undefined]
  #primary = 0
  /** The way from the primary to the standby, if it is slow. */
  #lag: Link | undefined
  failovers = 0

  constructor(options: DatabaseOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    this.#places[0] = await this.#startServer()
    await this.#addStandby()
  }

  /** The port of the server at this place, if there is one now. */
  portAt(place: number): number | undefined {
    return this.#places[place]?.port
  }

  get primary(): Postgres {
    return this.#places[this.#primary] as Postgres
  }

  query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return this.primary.query<R>(text, values)
  }

  /** As a crash of its process. */
  async killPrimary(): Promise<void> {
    await this.primary.kill()
    await this.#startAgain()
  }

  async restartPrimary(): Promise<void> {
    await this.primary.stop()
    await this.#startAgain()
  }

  async failOver(): Promise<void> {
    if (this.#options.standbyLagsMs === undefined) await this.#caughtUp()
    const [old, next] = [this.primary, this.#places[1 - this.#primary] as Postgres]
    await old.kill()
    this.#places[this.#primary] = undefined
    await next.query('SELECT pg_promote(true, 60)')
    this.#primary = 1 - this.#primary
    this.failovers += 1
    await old[Symbol.asyncDispose]()
    await this.#addStandby()
  }

  async fillDisk(forMs: number): Promise<void> {
    const { disk } = this.#options
    await disk.fill()
    await pause(forMs)
    await disk.free()
    // Without room for its log the server ends. So may the standby, which has the same disk.
    if (await this.#isDown(this.primary)) await this.#startAgain()
    const standby = this.#places[1 - this.#primary]
    if (standby && (await this.#isDown(standby))) await standby.restart()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const place of this.#places) await place?.[Symbol.asyncDispose]()
    await this.#lag?.[Symbol.asyncDispose]()
  }

  async #startServer(standbyOf?: number): Promise<Postgres> {
    const own = { parent: this.#options.disk.folder, port: await freePort(), settings: SETTINGS }
    return startPostgres({ ...own, ...(standbyOf !== undefined && { standbyOf }) })
  }

  async #startAgain(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.primary.restart()
      } catch (thrown) {
        // Processes of the killed server may still be ending.
        if (tries === 50) throw thrown
        await pause(100)
      }
    }
  }

  async #isDown(server: Postgres): Promise<boolean> {
    for (let tries = 0; tries < 20; tries++) {
      try {
        await server.query('SELECT 1')
        return false
      } catch {
        await pause(200)
      }
    }
    return true
  }

  async #addStandby(): Promise<void> {
    const { standbyLagsMs } = this.#options
    const { port } = this.primary
    let from = port
    if (standbyLagsMs !== undefined) {
      await this.#lag?.[Symbol.asyncDispose]()
      this.#lag = await openLink(() => port)
      from = this.#lag.port
    }
    this.#places[1 - this.#primary] = await this.#startServer(from)
    if (standbyLagsMs === undefined) {
      await this.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
      await this.query('SELECT pg_reload_conf()')
    }
    await this.#caughtUp()
    this.#lag?.delay(standbyLagsMs ?? 0)
  }

  /** Waits until the standby has all that the primary has shown to its clients by now. */
  async #caughtUp(): Promise<void> {
    const isLagging = this.#options.standbyLagsMs !== undefined
    const [{ at } = { at: '0/0' }] = await this.query<{ at: string }>('SELECT pg_current_wal_lsn()::text AS at')
    for (let tries = 0; tries < 300; tries++) {
      const rows = await this.query(
        'SELECT FROM pg_stat_replication WHERE sync_state = $2 AND flush_lsn >= $1::pg_lsn',
        [at, isLagging ? 'async' : 'sync'],
      )
      if (rows.length > 0) return
      await pause(100)
    }
    throw new Error('The standby does not follow the primary.')
  }
}
