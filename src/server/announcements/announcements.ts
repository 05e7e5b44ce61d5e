/**
 * Notifies another service of pending approvals and of ended calls. The server stores each announcement until the
 * engine has accepted it as a call, and that call retries until it is delivered. A receiver may get an event twice.
 */

import type { Caller } from '../../core/call/caller.ts'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { operation } from '../../core/operation/define.ts'
import type { Operation, OperationDefinition } from '../../core/operation/operation.ts'
import { jsonSchema } from '../../core/operation/schema.ts'
import type { Guard } from '../../core/ports/guard.ts'
import type { Observer, Outbox } from '../../core/ports/observer.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { SecretSource } from '../../core/ports/secrets.ts'
import type { AuditEntry, Store } from '../../core/ports/store.ts'
import { timeText } from '../../engine/admin/shapes.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Approval } from '../../engine/wait/approvals.ts'
import { deliver } from './delivery.ts'

export const EVENTS = ['approval.pending', 'call.ended'] as const
export type AnnouncedEvent = (typeof EVENTS)[number]

export interface AnnounceOptions {
  url: string
  /** Name of the signing secret: HMAC-SHA256 over the timestamp, a dot and the body. */
  secretRef: string
  /** Default: both. */
  events?: readonly AnnouncedEvent[]
  /** Allows a receiver in a private network or on this machine. */
  allowPrivate?: boolean
}

export interface AnnouncementParts {
  engine: Engine
  store: Store
  env: Environment
  /** Dates the announcements. Receivers compare the date with their own clock, not with the store's. */
  machineClock: Pick<Clock, 'now'>
  remote: RemoteClient
  secrets: SecretSource
  /** True if another process of this server delivers announcements left by an earlier process. */
  sweptElsewhere?: boolean
}

/** Stored until the engine has accepted it. */
interface Announcement {
  key: string
  body: JsonObject
}

const NAME = 'v1:callplane.announce'
const SCOPE = 'callplane:announce'
const OUTBOX = 'announce/'
const SWEEP_EVERY_MS = 60_000
const SWEEP_BATCH = 100
/** The server as a caller. The guard compares the object's identity, so no other caller can impersonate it. */
const ANNOUNCER: Caller = { tenant: 'main', issuer: 'callplane', subject: 'announcements', scopes: [SCOPE] }

export class Announcements {
  readonly #options: AnnounceOptions
  readonly #events: readonly AnnouncedEvent[]
  readonly #underWay = new Set<Promise<void>>()
  readonly definition: OperationDefinition
  readonly guard: Guard
  #parts: AnnouncementParts | undefined
  #cancelSweep = () => {}
  #stopped = false

  constructor(options: AnnounceOptions) {
    this.#options = options
    this.#events = options.events ?? EVENTS
    this.definition = operation(NAME, {
      description: 'Delivers one announcement. Only the server can call it.',
      internal: true,
      model: 'async',
      idempotencyRequired: true,
      retry: { attempts: 8, backoffMs: 1_000, maxBackoffMs: 300_000, jitter: 'equal' },
      timeoutMs: 15_000,
      scopes: [SCOPE],
      args: jsonSchema<{ body: JsonObject }>({ type: 'object', required: ['body'] }),
      run: ({ body }, ctx) => deliver(this.#connected(), this.#options, body, ctx.signal),
    })
    this.guard = {
      admit(caller, { name }) {
        if (name.full !== NAME || caller === ANNOUNCER) return
        throw new Fault('forbidden', 'Only the server makes announcements.', { code: 'SERVER_ONLY' })
      },
    }
  }

  /** Resumes announcements that an earlier process left. */
  start(parts: AnnouncementParts): void {
    this.#parts = parts
    if (this.#events.includes('approval.pending')) {
      parts.engine.approvals.onOpening = (approval) => [noteOf(pendingOf(approval))]
      parts.engine.approvals.onOpened = (approval) => this.#track(this.#handOver(pendingOf(approval)))
    }
    if (!parts.sweptElsewhere) this.#track(this.#findPending().finally(() => this.#sweep()))
  }

  /** Commits the end of a call and the note to announce it together. */
  get outbox(): Outbox | undefined {
    if (!this.#events.includes('call.ended')) return undefined
    return { ended: ({ internal }, entry) => (internal ? undefined : [noteOf(endedOf(entry()))]) }
  }

  /** Wraps the observer to also announce every recorded call that has ended. */
  observing(observer: Observer | undefined): Observer | undefined {
    if (!this.#events.includes('call.ended')) return observer
    const executed: Observer['executed'] = (done, execution) => {
      observer?.executed?.(done, execution)
      this.#ended(done, execution.entry)
    }
    return { ...observer, executed }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelSweep()
    await Promise.all(this.#underWay)
  }

  #connected(): AnnouncementParts {
    if (!this.#parts) throw new Fault('unavailable', 'The server is starting. Try again in a moment.')
    return this.#parts
  }

  #ended({ internal }: Operation, entry: AuditEntry): void {
    if (!internal) this.#track(this.#handOverIfNoted(endedOf(entry).key))
  }

  /** An unrecorded call leaves no note: its caller has the result already. */
  async #handOverIfNoted(key: string): Promise<void> {
    const noted = await this.#connected().store.records.get(OUTBOX + key)
    if (noted !== undefined) await this.#handOver({ key, body: JSON.parse(noted) as JsonObject })
  }

  async #handOver({ key, body }: Announcement): Promise<void> {
    const { engine, store, env } = this.#connected()
    if (engine.draining) return
    const call = { operation: NAME, args: { body }, media: [], requestId: env.newId(), idempotencyKey: key }
    await engine.call(call, () => ANNOUNCER, { ours: true })
    await store.records.remove(OUTBOX + key)
  }

  /**
   * Approvals opened while the server announced nothing. Repeats are safe: an approval announced before maps to the
   * same call.
   */
  async #findPending(): Promise<void> {
    const { engine, store } = this.#connected()
    if (!this.#events.includes('approval.pending')) return
    for await (const approval of engine.approvals.waiting()) {
      if (engine.draining) return
      if (!engine.approvals.isPending(approval)) continue
      const { key, value } = noteOf(pendingOf(approval))
      await store.records.put(key, value)
    }
  }

  async #sweep(): Promise<void> {
    const { env } = this.#connected()
    try {
      const { refused, err } = await this.#handOverAll()
      if (refused > 0) env.log.warn({ err, refused }, 'could not hand over some announcements; they are tried again')
    } catch (err) {
      env.log.warn({ err }, 'could not start announcements; will retry')
    }
    if (!this.#stopped) this.#cancelSweep = env.clock.schedule(SWEEP_EVERY_MS, () => this.#track(this.#sweep()))
  }

  /** A note that is refused stays for the next sweep, and the notes behind it are still handed over. */
  async #handOverAll(): Promise<{ refused: number; err?: unknown }> {
    const { store, engine } = this.#connected()
    let refusals: { refused: number; err?: unknown } = { refused: 0 }
    let page = await store.records.list(OUTBOX, SWEEP_BATCH)
    while (page.length > 0 && !engine.draining) {
      for (const { key, value } of page) {
        try {
          await this.#handOver({ key: key.slice(OUTBOX.length), body: JSON.parse(value) as JsonObject })
        } catch (err) {
          refusals = { refused: refusals.refused + 1, err }
        }
      }
      page = await store.records.list(OUTBOX, SWEEP_BATCH, page.at(-1)?.key)
    }
    return refusals
  }

  #track(work: Promise<void>): void {
    const settled = work
      .catch((err) => this.#parts?.env.log.warn({ err }, 'could not start an announcement; will retry'))
      .finally(() => this.#underWay.delete(settled))
    this.#underWay.add(settled)
  }
}

/** Stored until the engine has accepted it. If that fails, the next sweep retries. */
function noteOf({ key, body }: Announcement): { key: string; value: string } {
  return { key: OUTBOX + key, value: JSON.stringify(body) }
}

function pendingOf(approval: Approval): Announcement {
  const { id, tenant, owner, operation, risk, rule, reason, createdAt, expiresAt } = approval
  return announcementOf('approval.pending', id, createdAt, {
    approval: {
      id,
      tenant,
      caller: owner,
      operation,
      risk,
      ...(rule !== undefined && { rule }),
      ...(reason !== undefined && { reason }),
      expiresAt: timeText(expiresAt),
    },
  })
}

function endedOf({ fingerprint: _hash, owner, startedAt, endedAt, ...entry }: AuditEntry): Announcement {
  const call = { ...entry, caller: owner, startedAt: timeText(startedAt), endedAt: timeText(endedAt) }
  return announcementOf('call.ended', entry.id, endedAt, { call })
}

function announcementOf(event: AnnouncedEvent, id: string, at: number, about: JsonObject): Announcement {
  const key = `${event}:${id}`
  return { key, body: { event, id: key, at: timeText(at), ...about } }
}
