/**
 * Sessions of the revisions that begin with `initialize`. The id itself says, signed, what its client can do, so that
 * nothing is kept for one that only calls tools, and a session outlives the server. What little it asks us to remember
 * (a level, addresses it watches) is a record.
 */

import type { Caller } from '../../../core/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { Records } from '../../../core/ports/store.ts'
import { callerKey } from '../asking/asked.ts'

export interface ClientSession {
  readonly id: string
  /** Whose it is. */
  readonly owner: string
  readonly capabilities: JsonObject
}

type Signing = Pick<Environment, 'sign' | 'newId'>

/** What we ever ask of a client, a letter each. */
const ABILITIES: readonly { letter: string; has(capabilities: JsonObject): boolean; capabilities: JsonObject }[] = [
  { letter: 'f', has: (given) => takesForms(given.elicitation), capabilities: { elicitation: { form: {} } } },
  { letter: 's', has: ({ sampling }) => isJsonObject(sampling), capabilities: { sampling: {} } },
  { letter: 'r', has: ({ roots }) => isJsonObject(roots), capabilities: { roots: {} } },
]

/** Older revisions know no other elicitation, so that an empty capability means forms. */
function takesForms(elicitation: unknown): boolean {
  if (!isJsonObject(elicitation)) return false
  return Object.keys(elicitation).length === 0 || isJsonObject(elicitation.form)
}

/** The id of a new session. */
export function openSession(capabilities: JsonObject, caller: Caller | undefined, env: Signing): string {
  const letters = ABILITIES.filter(({ has }) => has(capabilities)).map(({ letter }) => letter)
  const stem = `${env.newId()}.-${letters.join('')}`
  return `${stem}.${signature(stem, caller, env)}`
}

/** Nothing if it is none of ours, or somebody else's. */
export function readSession(id: string, caller: Caller | undefined, env: Signing): ClientSession | undefined {
  const at = id.lastIndexOf('.')
  const stem = id.slice(0, at)
  if (at < 0 || id.slice(at + 1) !== signature(stem, caller, env)) return undefined
  const letters = stem.slice(stem.indexOf('.') + 2)
  const known = ABILITIES.filter(({ letter }) => letters.includes(letter))
  return {
    id,
    owner: callerKey({ caller }),
    capabilities: Object.assign({}, ...known.map(({ capabilities }) => capabilities)),
  }
}

function signature(stem: string, caller: Caller | undefined, env: Signing): string {
  return env.sign(JSON.stringify(['mcp-session', callerKey({ caller }), stem]))
}

/** What a session has asked for is forgotten a day after it last said so. */
const KEEP_MS = 86_400_000
/** Of one caller, over all sessions: they cost nothing to begin. */
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
      const message = `Your sessions have asked for ${MAX_NOTES} things already. Unsubscribe from some.`
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
