/** Subscriptions and log levels, in both generations. */

import type { Caller } from '../../../core/call/caller.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import { type Asked, callerKey, metaOf, type Outcome, textParam } from '../asking/asked.ts'
import { invalidParams } from '../faults.ts'
import { REGISTRY_URI } from '../resources.ts'
import { notification } from '../rpc.ts'
import type { OfferedResources } from '../tools/offers.ts'
import { META, type RpcNotification } from '../wire.ts'
import type { Changes, Wanted } from './changes.ts'
import { LEVELS, type Level, levelIn } from './hearing.ts'
import type { ClientSession, SessionNotes } from './sessions.ts'

/** Default level of a session. */
const USUAL_LEVEL: Level = 'info'
/** Maximum number of addresses in one request. */
const MAX_NAMED = 100
const MAX_ADDRESS = 2_048

/** Default: no messages for a stateless request, `USUAL_LEVEL` for a session. */
export function levelFor(asked: Asked, notes: SessionNotes): Level | undefined | Promise<Level | undefined> {
  if (asked.generation === 'stateless') {
    const level = levelIn(metaOf(asked)[META.logLevel])
    return level && asked.client.hears ? level : undefined
  }
  if (!asked.client.hears) return undefined
  const { session } = asked.client
  return session && notes.level(session).then((level) => levelIn(level) ?? USUAL_LEVEL)
}

export async function setLevel(asked: Asked, notes: SessionNotes): Promise<object> {
  const level = levelIn(asked.params.level)
  if (!level) throw invalidParams(`"level" must be one of ${LEVELS.join(', ')}.`)
  await notes.setLevel(sessionOf(asked), level)
  return {}
}

export class Subscriptions {
  readonly #changes: Changes
  readonly #notes: SessionNotes
  readonly #offered: OfferedResources

  constructor(changes: Changes, notes: SessionNotes, offered: OfferedResources) {
    this.#changes = changes
    this.#notes = notes
    this.#offered = offered
  }

  /**
   * `subscriptions/listen`: first acknowledges the subscriptions, then sends changes until the client or the server
   * ends it.
   */
  async listen(asked: Asked): Promise<Outcome> {
    const { notifications } = asked.params
    if (!isJsonObject(notifications)) throw invalidParams('subscriptions/listen needs the object "notifications".')
    const { toolsListChanged, resourceSubscriptions = [] } = notifications
    if (!isNames(resourceSubscriptions)) {
      throw invalidParams(`"resourceSubscriptions" must be an array of at most ${MAX_NAMED} addresses.`)
    }
    const resources: string[] = []
    for (const uri of resourceSubscriptions) if (await this.#canWatch(uri, asked)) resources.push(uri)
    const wanted = { tools: toolsListChanged === true, resources }
    this.#changes.requireRoom(callerKey(asked))
    return { stream: this.#told(wanted, asked) }
  }

  async *#told(wanted: { tools: boolean; resources: string[] }, asked: Asked) {
    const { tools, resources } = wanted
    const marked = { [META.subscriptionId]: asked.id }
    const mark = ({ method, params }: RpcNotification) => notification(method, { ...params, _meta: marked })
    const honored: JsonObject = {
      ...(tools && { toolsListChanged: true }),
      ...(resources.length > 0 && { resourceSubscriptions: resources }),
    }
    yield mark(notification('notifications/subscriptions/acknowledged', { notifications: honored }))
    if (tools || resources.length > 0) {
      for await (const change of this.#changes.watch(wanted, callerKey(asked), asked.client.signal)) yield mark(change)
    }
    return { resultType: 'complete', _meta: marked }
  }

  async add(asked: Asked): Promise<object> {
    const uri = textParam(asked, 'uri')
    const session = sessionOf(asked)
    if (!(await this.#canWatch(uri, asked))) {
      throw invalidParams(`"${uri.slice(0, 200)}" is not a resource that you can subscribe to.`)
    }
    await this.#notes.watch(session, uri)
    return {}
  }

  async remove(asked: Asked): Promise<object> {
    await this.#notes.unwatch(sessionOf(asked), textParam(asked, 'uri'))
    return {}
  }

  notifications(
    session: ClientSession,
    caller: Caller | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<RpcNotification, void> {
    const owner = callerKey({ caller })
    this.#changes.requireRoom(owner)
    const wanted: Wanted = { tools: true, resources: () => this.#notes.watched(session) }
    return this.#changes.watch(wanted, owner, signal)
  }

  close(): void {
    this.#changes.close()
  }

  /** A caller who may not read a resource gets no notifications about it. */
  async #canWatch(uri: string, { caller }: Asked): Promise<boolean> {
    if (uri === REGISTRY_URI) return true
    if (!caller || uri.length > MAX_ADDRESS || !this.#offered.isWatched(uri)) return false
    try {
      return (await this.#offered.read(uri, caller)) !== undefined
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind !== 'internal') return false
      throw thrown
    }
  }
}

function sessionOf({ client, method }: Asked): ClientSession {
  if (client.session) return client.session
  throw invalidParams(`${method} needs a session. Start with initialize, and send the Mcp-Session-Id of its response.`)
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_NAMED && value.every((name) => typeof name === 'string')
}
