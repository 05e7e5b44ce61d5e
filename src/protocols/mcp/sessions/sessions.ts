/**
 * Sessions of the revisions that start with `initialize`. The signed id contains the client's capabilities, so that a
 * session survives a restart and needs no storage if it only calls tools. The log level and watched addresses are
 * stored as records.
 */

import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'
import { callerKey } from '../asking/asked.ts'

export interface ClientSession {
  readonly id: string
  /** Key of the caller that owns the session. */
  readonly owner: string
  readonly capabilities: JsonObject
}

type Signing = Pick<Environment, 'sign' | 'isSigned' | 'newId'>

/** The client capabilities that the server uses, one letter each. */
const ABILITIES: readonly { letter: string; has(capabilities: JsonObject): boolean; capabilities: JsonObject }[] = [
  { letter: 'f', has: (given) => takesForms(given.elicitation), capabilities: { elicitation: { form: {} } } },
  { letter: 's', has: ({ sampling }) => isJsonObject(sampling), capabilities: { sampling: {} } },
  { letter: 'r', has: ({ roots }) => isJsonObject(roots), capabilities: { roots: {} } },
]

/** Older revisions only have forms, so an empty capability means forms. */
function takesForms(elicitation: unknown): boolean {
  if (!isJsonObject(elicitation)) return false
  return Object.keys(elicitation).length === 0 || isJsonObject(elicitation.form)
}

/** Returns the id of a new session. */
export function openSession(capabilities: JsonObject, caller: Caller | undefined, env: Signing): string {
  const letters = ABILITIES.filter(({ has }) => has(capabilities)).map(({ letter }) => letter)
  const stem = `${env.newId()}.-${letters.join('')}`
  return `${stem}.${env.sign(signedText(stem, caller))}`
}

/** Returns `undefined` for an invalid id or that of another caller. */
export function readSession(id: string, caller: Caller | undefined, env: Signing): ClientSession | undefined {
  const at = id.lastIndexOf('.')
  const stem = id.slice(0, at)
  if (at < 0 || !env.isSigned(signedText(stem, caller), id.slice(at + 1))) return undefined
  const letters = stem.slice(stem.indexOf('.') + 2)
  const known = ABILITIES.filter(({ letter }) => letters.includes(letter))
  return {
    id,
    owner: callerKey({ caller }),
    capabilities: Object.assign({}, ...known.map(({ capabilities }) => capabilities)),
  }
}

function signedText(stem: string, caller: Caller | undefined): string {
  return JSON.stringify(['mcp-session', callerKey({ caller }), stem])
}

/** Settings of a session expire one day after their last change. */
const KEEP_MS = 86_400_000
/** Limit per caller, for all its sessions together, because a caller can start any number of sessions. */
const MAX_NOTES = 2_000

export class SessionNotes {
  readonly #env: Pick<Environment, 'clock' | 'digest'>
  readonly #records: Records

  constructor(env: Pick<Environment, 'clock' | 'digest'>, records: Records) {
    this.#env = env
    this.#records = records
  }

  async setLevel(session: ClientSession, level: string): Promise<void> {
    await this.#put(session, 'level', level)
  }

  level(session: ClientSession): Promise<string | undefined> {
    return this.#records.get(this.#key(session, 'level'))
  }

  async watch(session: ClientSession, uri: string): Promise<void> {
    await this.#put(session, `watched/${this.#env.digest(uri)}`, uri)
  }

  async unwatch(session: ClientSession, uri: string): Promise<void> {
    await this.#records.remove(this.#key(session, `watched/${this.#env.digest(uri)}`))
  }

  async watched(session: ClientSession): Promise<ReadonlySet<string>> {
    const rows = await this.#records.list(this.#key(session, 'watched/'), MAX_NOTES)
    return new Set(rows.map(({ value }) => value))
  }

  async #put(session: ClientSession, what: string, value: string): Promise<void> {
    const kept = await this.#records.list(this.#keysOf(session), MAX_NOTES)
    const key = this.#key(session, what)
    if (kept.length === MAX_NOTES && !kept.some((note) => note.key === key)) {
      const message = `Your sessions already have ${MAX_NOTES} subscriptions and settings. Unsubscribe from some resources.`
      throw new Fault('overloaded', message, { code: 'TOO_MANY_SUBSCRIPTIONS' })
    }
    await this.#records.put(key, value, this.#until())
  }

  #keysOf({ owner }: ClientSession): string {
    return `mcp-session/${this.#env.digest(owner)}/`
  }

  #key(session: ClientSession, what: string): string {
    return `${this.#keysOf(session)}${this.#env.digest(session.id)}/${what}`
  }

  #until(): number {
    return this.#env.clock.now() + KEEP_MS
  }
}
