/**
 * Runs one story on servers that die. The first server ends after its n-th write. The next opens the same data, and the
 * story runs again from its beginning, as from a client that got no reply.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallplaneServer, createServer, type ServerOptions } from 'callplane'
import type { Store } from '../../../src/core/ports/store.ts'
import { createFileObjects } from '../../../src/objects/files/index.ts'
import { createSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { createManualClock, type ManualClock } from '../../../src/testing/fakes/clock.ts'
import { type Ledger, readLedger } from '../ledger.ts'
import { Death, mortalClock, mortalObjects, mortalStore } from './death.ts'

export interface Story {
  options(life: Life): Partial<ServerOptions>
  /** Each step can be repeated: a call keeps its ids, and a decision is not made twice. */
  tell(life: Life): Promise<unknown>
}

export interface Told {
  ledger: Ledger
  /** The writes of the first server, in order. */
  writes: readonly string[]
  /** True if the first server died. */
  died: boolean
  /** Effects that handlers noted, on all servers. */
  effects: readonly string[]
  /** The outcome of the story. */
  outcome: unknown
}

class Died extends Error {}

const MOST_TURNS = 20_000

/** A running server, and a client's view of it. */
export class Life {
  readonly clock: ManualClock
  readonly death: Death
  /** True if this is the server that ends early. */
  readonly isFirst: boolean
  readonly #effects: string[]
  #server: CallplaneServer | undefined
  #sqlite: Store | undefined

  constructor(clock: ManualClock, death: Death, effects: string[], isFirst: boolean) {
    this.isFirst = isFirst
    this.clock = clock
    this.death = death
    this.#effects = effects
  }

  get server(): CallplaneServer {
    return this.#server as CallplaneServer
  }

  async start(data: string, story: Story): Promise<void> {
    const clock = mortalClock(this.clock, this.death)
    const sqlite = createSqliteStore({ file: join(data, 'callplane.db'), clock })
    const objects = createFileObjects({ folder: join(data, 'objects'), clock })
    this.#sqlite = sqlite
    const opening = createServer({
      operations: [],
      data,
      clock,
      log: 'silent',
      store: mortalStore(sqlite, this.death),
      objects: mortalObjects(objects, this.death),
      ...story.options(this),
    })
    this.#server = await this.alive(opening)
  }

  /** Closes its database file. */
  async release(): Promise<void> {
    await this.#sqlite?.close()
  }

  /** Records an external effect of a handler, unless the process has ended. */
  note(effect: string): void {
    if (!this.death.isDead) this.#effects.push(effect)
  }

  /** Sends one request, as over HTTP. */
  async request(path: string, body?: object, headers: Record<string, string> = {}, method?: string) {
    const request = new Request(`http://127.0.0.1:4747${path}`, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const response = await this.alive(this.server.fetch(request))
    const text = await this.alive(response.text())
    // biome-ignore lint/suspicious/noExplicitAny: stories read any members they expect.
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as any }
  }

  alive<T>(promise: Promise<T>): Promise<T> {
    const dead = this.death.happened.then(() => {
      throw new Died()
    })
    return Promise.race([promise, dead])
  }

  /** Lets all work proceed as far as it can without the clock. Files and sockets take real time, so it counts turns. */
  async quiet(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < 30; quiet++) {
      await this.alive(new Promise(setImmediate))
      if (seen !== this.death.writes.length) quiet = 0
      seen = this.death.writes.length
    }
    // Announcements use a real connection.
    for (let turn = 0; turn < MOST_TURNS && (await this.#announces()); turn++)
      await this.alive(new Promise(setImmediate))
  }

  async #announces(): Promise<boolean> {
    const open = await this.#sqlite?.openCounts()
    return [...(open?.byOperation.keys() ?? [])].some((key) => key.startsWith('v1:callplane.announce'))
  }

  /** Waits until `look` finds a value, and advances the clock a little in each turn. */
  async until<T>(look: () => Promise<T | undefined>, stepMs = 1): Promise<T> {
    for (let turn = 0; turn < MOST_TURNS; turn++) {
      const found = await look()
      if (found !== undefined) return found
      // Without a clock step it waits for another process or a socket, which takes real time.
      await this.alive(new Promise((resolve) => (stepMs === 0 ? setTimeout(resolve, 1) : setImmediate(resolve))))
      this.clock.advance(stepMs)
    }
    throw new Error('What was waited for did not come.')
  }
}

/** Runs the story with a first server that ends after `after` writes. By default one server runs it to the end. */
export async function tell(story: Story, after?: number): Promise<Told> {
  const clock = createManualClock()
  const effects: string[] = []
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'callplane-points-'))) as [string, string]
  const [first, second] = folders
  const life = new Life(clock, new Death(after), effects, true)
  const { writes } = life.death
  try {
    try {
      const outcome = await liveOn(first, story, life)
      return { ledger: readLedger(first, clock.now()), writes, died: false, effects, outcome }
    } catch (thrown) {
      if (!(thrown instanceof Died)) throw thrown
    }
    // Copies the data in its current state, because an orderly shutdown would write more.
    cpSync(first, second, { recursive: true })
    await life.release()
    const outcome = await liveOn(second, story, new Life(clock, new Death(), effects, false))
    return { ledger: readLedger(second, clock.now()), writes, died: true, effects, outcome }
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

/** Time after the story for leases to expire, sweeps to run and reserved places to become free. */
const REST_MS = 70_000
const REST_STEP_MS = 10_000

async function liveOn(data: string, story: Story, life: Life): Promise<unknown> {
  await life.start(data, story)
  const outcome = await story.tell(life)
  await life.quiet()
  // The writes after the story are the same in every run, so the server need not end at each of them.
  life.death.spare()
  for (let passed = 0; passed < REST_MS; passed += REST_STEP_MS) {
    await life.quiet()
    life.clock.advance(REST_STEP_MS)
  }
  await life.quiet()
  await closing(life)
  return outcome
}

async function closing({ server, clock }: Life): Promise<void> {
  let closed = false
  const done = server.close(0).finally(() => {
    closed = true
  })
  while (!closed) {
    await new Promise(setImmediate)
    clock.advance(100)
  }
  await done
}
