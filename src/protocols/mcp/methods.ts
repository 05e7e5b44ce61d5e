/** Maps method names to handlers, in both generations. Carriers parse requests and identify callers. */

import type { Caller } from '../../core/call/caller.ts'
import { questionsIn } from '../../core/call/questions.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Operation } from '../../core/operation/operation.ts'
import { hasScope } from '../../core/operation/scopes.ts'
import { needsCredential, requireCredential } from '../../wire/strangers.ts'
import { type Asked, type Outcome, takesTasks, textParam } from './asking/asked.ts'
import { askingOf, inputRequired } from './asking/asking.ts'
import { ClientReplies, type ClientReply } from './asking/client-replies.ts'
import { CallingOff } from './calls/calling-off.ts'
import { ToolCalls } from './calls/calls.ts'
import { Tasks } from './calls/tasks.ts'
import type { CallParts } from './calls/underway.ts'
import { completed } from './codec.ts'
import { invalidParams, unknownMethod } from './faults.ts'
import { Resources } from './resources.ts'
import { Changes } from './sessions/changes.ts'
import { type ClientSession, openSession, SessionNotes } from './sessions/sessions.ts'
import { levelFor, Subscriptions, setLevel } from './sessions/subscriptions.ts'
import { CallTool, type Envelopes } from './tools/call-tool.ts'
import { type Caching, createToolList, LIST_TTL_MS, type ToolList, withCaching } from './tools/list.ts'
import { type McpPrompt, type McpResource, OfferedPrompts, OfferedResources } from './tools/offers.ts'
import { createSearch } from './tools/search.ts'
import { type Generation, INITIALIZED_VERSIONS, META, type RpcNotification, STATELESS_VERSION, TASKS } from './wire.ts'

export interface McpParts extends Omit<CallParts, 'holdMs' | 'replies' | 'levelFor' | 'tasksOnly'> {
  /** Returns the registry document. */
  describe: (now: number) => object
  /**
   * If set, all operations are one tool named `call`, which takes OpenCALL envelopes. Default: one tool per operation.
   */
  envelopes?: Envelopes
  settings: McpSettings
}

export interface McpSettings {
  serverInfo: { name: string; version: string; title?: string }
  /** Description of this server for the model. */
  instructions?: string
  /** How long to wait for a call if the client does not support tasks. */
  holdMs: number
  /** True if callers need a credential. */
  authenticated: boolean
  /** True to offer internal operations as tools to callers with their scopes. */
  administration?: boolean
  /** The application's own resources. */
  resources?: readonly McpResource[]
  prompts?: readonly McpPrompt[]
  /** Names of operations that only clients with tasks may call. */
  tasksOnly?: readonly string[]
}

export type Method = (asked: Asked) => Outcome | Promise<Outcome>

export class Methods {
  readonly #parts: McpParts
  readonly #methods: Record<Generation, ReadonlyMap<string, Method>>
  readonly #list: ToolList
  readonly #prompts: OfferedPrompts
  readonly #subscriptions: Subscriptions
  readonly #replies: ClientReplies

  constructor(parts: McpParts) {
    const { catalog, tools, env, settings, describe } = parts
    const cacheScope = settings.authenticated ? 'private' : 'public'
    const offered = new OfferedResources(settings.resources ?? [], env)
    const notes = new SessionNotes(env, parts.records)
    this.#replies = new ClientReplies(env, parts.records)
    this.#subscriptions = new Subscriptions(new Changes(catalog, offered), notes, offered)
    const callParts: CallParts = {
      ...parts,
      holdMs: settings.holdMs,
      replies: this.#replies,
      levelFor: (asked) => levelFor(asked, notes),
      tasksOnly: new Set(settings.tasksOnly),
    }
    const tasks = new Tasks(callParts)
    const calls = new ToolCalls(callParts, tasks)
    const { clock } = env
    const resources = new Resources({ ...parts, describe, cacheScope, clock, offered })
    this.#prompts = new OfferedPrompts(settings.prompts ?? [], env)
    this.#parts = parts
    const { envelopes } = parts
    const single =
      envelopes && new CallTool(envelopes, createSearch(catalog, describe, env.clock), new CallingOff(parts))
    this.#list = createToolList(catalog, tools, cacheScope, single && (() => single.definitions()))
    const shared: [string, Method][] = [
      ['tools/list', (asked) => this.#listTools(asked)],
      ['tools/call', (asked) => (single ?? calls).call(asked)],
      ['resources/list', (asked) => ({ result: resources.list(unpaged(asked)) })],
      ['resources/templates/list', (asked) => ({ result: resources.templates(unpaged(asked)) })],
      ['resources/read', async (asked) => ({ result: await resources.read(asked) })],
      ...(this.#prompts.size > 0 ? this.#promptMethods(this.#prompts, cacheScope) : []),
    ]
    this.#methods = {
      stateless: new Map<string, Method>([
        ...shared,
        ['server/discover', () => ({ result: this.#discover() })],
        ['subscriptions/listen', (asked) => this.#subscriptions.listen(asked)],
        ['tasks/get', (asked) => tasks.get(asked)],
        ['tasks/update', async (asked) => ({ result: await tasks.update(asked) })],
        ['tasks/cancel', async (asked) => ({ result: await tasks.cancel(asked) })],
      ]),
      initialized: new Map<string, Method>([
        ...shared,
        ['initialize', (asked) => this.#initialize(asked)],
        ['ping', () => ({ result: {} })],
        ['logging/setLevel', async (asked) => ({ result: await setLevel(asked, notes) })],
        ['resources/subscribe', async (asked) => ({ result: await this.#subscriptions.add(asked) })],
        ['resources/unsubscribe', async (asked) => ({ result: await this.#subscriptions.remove(asked) })],
      ]),
    }
  }

  #promptMethods(prompts: OfferedPrompts, cacheScope: Caching['cacheScope']): [string, Method][] {
    return [
      [
        'prompts/list',
        (asked) => ({ result: withCaching({ prompts: prompts.listed }, unpaged(asked).generation, cacheScope) }),
      ],
      [
        'prompts/get',
        async (asked) => {
          return { result: await this.#prompt(prompts, asked) }
        },
      ],
      [
        'completion/complete',
        async (asked) => {
          callerOf(asked)
          const { prompt, name, value } = completionIn(asked)
          const completion = prompt === undefined ? { values: [] } : await prompts.complete(prompt, name, value)
          return { result: completed({ completion }, asked.generation) }
        },
      ],
    ]
  }

  /** A client repeats the request with the answers to the prompt's questions. Older revisions do not support this. */
  async #prompt(prompts: OfferedPrompts, asked: Asked): Promise<object> {
    const { env } = this.#parts
    const { arguments: args } = asked.params
    try {
      const asking = askingOf(asked, env)
      const prompted = await prompts.get(textParam(asked, 'name'), args, callerOf(asked), asking)
      return completed(prompted, asked.generation)
    } catch (thrown) {
      const questions = thrown instanceof Fault && asked.generation === 'stateless' ? questionsIn(thrown) : undefined
      if (!questions) throw thrown
      return inputRequired(questions, asked, env)
    }
  }

  /** Accepts the reply of an older client to a request of the server. */
  takeReply(caller: Caller | undefined, reply: ClientReply): Promise<void> {
    return this.#replies.take(caller, reply)
  }

  /** Yields the notifications of a session that do not belong to a request. */
  notifications(
    session: ClientSession,
    caller: Caller | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<RpcNotification, void> {
    return this.#subscriptions.notifications(session, caller, signal)
  }

  /** Ends subscriptions and open questions, which have no end of their own. */
  close(): void {
    this.#subscriptions.close()
    this.#replies.close()
  }

  get #capabilities(): object {
    return {
      tools: { listChanged: true },
      resources: { subscribe: true },
      logging: {},
      ...(this.#prompts.size > 0 && { prompts: {}, completions: {} }),
    }
  }

  find(method: string, generation: Generation): Method {
    const found = this.#methods[generation].get(method)
    if (!found) throw unknownMethod(method)
    return found
  }

  requireCaller({ caller }: Pick<Asked, 'caller'>): void {
    requireCredential(caller, this.#parts.catalog)
  }

  #listTools(asked: Asked): Outcome {
    const { caller, generation } = unpaged(asked)
    const now = this.#parts.env.clock.now()
    const internal = caller && this.#parts.settings.administration ? this.#internalFor(caller, now) : undefined
    const audience = caller ? 'known' : 'everybody'
    return { result: this.#list.written({ generation, audience, tasks: takesTasks(asked) }, now, internal) }
  }

  #internalFor(caller: Caller, now: number): readonly Operation[] {
    const internal = this.#parts.catalog.listInternal(now)
    return internal.filter(({ scopes }) => scopes.every((scope) => hasScope(caller, scope)))
  }

  #discover(): object {
    const { serverInfo, instructions, authenticated } = this.#parts.settings
    return {
      resultType: 'complete',
      supportedVersions: [STATELESS_VERSION],
      capabilities: { ...this.#capabilities, extensions: { [TASKS]: {} } },
      ...(instructions !== undefined && { instructions }),
      ttlMs: LIST_TTL_MS,
      cacheScope: authenticated ? 'private' : 'public',
      _meta: { [META.serverInfo]: serverInfo },
    }
  }

  /** For an unknown version, the result contains a known one. The client decides if it accepts that version. */
  #initialize({ params, caller }: Asked): Outcome {
    const { protocolVersion, capabilities } = params
    if (typeof protocolVersion !== 'string') throw invalidParams('initialize needs the string "protocolVersion".')
    if (!isJsonObject(capabilities)) throw invalidParams('initialize needs the object "capabilities".')
    const { serverInfo, instructions } = this.#parts.settings
    const result = {
      protocolVersion: INITIALIZED_VERSIONS.find((known) => known === protocolVersion) ?? INITIALIZED_VERSIONS[0],
      capabilities: this.#capabilities,
      serverInfo,
      ...(instructions !== undefined && { instructions }),
    }
    return { result, sessionId: openSession(capabilities, caller, this.#parts.env) }
  }
}

/** An application's own resources and prompts are for identified callers only. */
function callerOf({ caller }: Asked): Caller {
  if (!caller) throw needsCredential()
  return caller
}

/** Supports completion for prompt arguments only, not for resource templates. */
function completionIn({ params }: Asked): { prompt?: string; name: string; value: string } {
  const { ref, argument } = params
  if (!isJsonObject(ref) || !isJsonObject(argument))
    throw invalidParams('completion/complete needs the objects "ref" and "argument".')
  const { name, value } = argument
  if (typeof name !== 'string' || typeof value !== 'string') throw invalidParams('"argument" needs "name" and "value".')
  return { name, value, ...(typeof ref.name === 'string' && { prompt: ref.name }) }
}

/** Lists are not paginated, so every cursor is invalid. */
function unpaged(asked: Asked): Asked {
  if (asked.params.cursor === undefined) return asked
  throw invalidParams('This cursor is invalid. Leave it out: the list has only one page.')
}
