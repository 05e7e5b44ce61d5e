/** An application's own resources and prompts for agents. */

import type { Caller } from '../../../core/call/caller.ts'
import type { HandlerContext } from '../../../core/call/context.ts'
import { type Asking, answersTo } from '../../../core/call/questions.ts'
import { Fault } from '../../../core/fault.ts'
import { isJsonObject, type JsonObject } from '../../../core/json.ts'
import type { Environment } from '../../../core/ports/runtime.ts'
import type { ResourceContents } from '../wire.ts'

interface Offer {
  name: string
  title?: string
  description?: string
}

/** `uri` may have parts in braces, such as `docs://{page}`. `read` gets their values. */
export interface McpResource extends Offer {
  uri: string
  mimeType?: string
  read(values: Readonly<Record<string, string>>, asked: { caller: Caller; uri: string }): Readable | Promise<Readable>
  /**
   * Calls `changed` at each change of the resource, until the returned function is called. If the `uri` has parts,
   * `changed` needs the full address. Clients can subscribe to resources with this method.
   */
  watch?(changed: (uri?: string) => void): () => void
}

type Readable = string | Uint8Array

export interface McpPrompt extends Offer {
  arguments?: readonly McpPromptArgument[]
  /** A string is one message of the user. */
  get(args: Readonly<Record<string, string>>, asked: PromptContext): Prompted | Promise<Prompted>
}

/** The caller of a prompt, and the same questions that a handler has. */
export interface PromptContext extends Pick<HandlerContext, 'ask' | 'canAsk'> {
  caller: Caller
}

export interface McpPromptArgument extends Offer {
  required?: boolean
  /** Returns possible values for a partially typed value. */
  complete?(value: string): readonly string[] | Promise<readonly string[]>
}

export type Prompted = string | readonly { role: 'user' | 'assistant'; content: object }[]

const PART = /\{([A-Za-z_]\w*)\}/g
/** The specification's maximum for one response. */
const MAX_COMPLETIONS = 100

interface Place {
  resource: McpResource
  pattern: RegExp
}

export class OfferedResources {
  /** Entries of `resources/list`. */
  readonly listed: readonly JsonObject[]
  readonly templates: readonly JsonObject[]
  readonly #places: readonly Place[]
  readonly #env: Pick<Environment, 'base64'>

  constructor(resources: readonly McpResource[], env: Pick<Environment, 'base64'>) {
    const hasParts = ({ uri }: McpResource) => uri.search(PART) >= 0
    this.listed = resources
      .filter((resource) => !hasParts(resource))
      .map(({ uri, ...about }) => ({ uri, ...shown(about) }))
    this.templates = resources.filter(hasParts).map(({ uri, ...about }) => ({ uriTemplate: uri, ...shown(about) }))
    this.#places = resources.map((resource) => ({ resource, pattern: patternOf(resource.uri) }))
    this.#env = env
  }

  /** True if the resource supports `watch`. */
  isWatched(uri: string): boolean {
    return this.#places.some(({ resource, pattern }) => resource.watch && pattern.test(uri))
  }

  get anyWatched(): boolean {
    return this.#places.some(({ resource }) => resource.watch)
  }

  /** Watches all resources that support it, until the returned function is called. */
  watch(changed: (uri: string) => void): () => void {
    const stops = this.#places.flatMap(({ resource }) => resource.watch?.((uri = resource.uri) => changed(uri)) ?? [])
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** Returns `undefined` if no resource has this address. */
  async read(uri: string, caller: Caller): Promise<ResourceContents | undefined> {
    for (const { resource, pattern } of this.#places) {
      const match = pattern.exec(uri)
      if (!match) continue
      const value = await resource.read(decodeAll(match.groups ?? {}), { caller, uri })
      const about = { uri, ...(resource.mimeType !== undefined && { mimeType: resource.mimeType }) }
      return typeof value === 'string' ? { ...about, text: value } : { ...about, blob: this.#env.base64(value) }
    }
    return undefined
  }
}

export class OfferedPrompts {
  readonly listed: readonly JsonObject[]
  readonly #prompts: ReadonlyMap<string, McpPrompt>
  readonly #env: Pick<Environment, 'conforms'>

  constructor(prompts: readonly McpPrompt[], env: Pick<Environment, 'conforms'>) {
    this.#env = env
    this.#prompts = new Map(prompts.map((prompt) => [prompt.name, prompt]))
    this.listed = prompts.map(({ arguments: args = [], ...about }) => ({ ...shown(about), arguments: args.map(shown) }))
  }

  get size(): number {
    return this.#prompts.size
  }

  async get(name: string, args: unknown, caller: Caller, asking: Asking | undefined): Promise<JsonObject> {
    const prompt = this.#find(name)
    const given = textsIn(args)
    const missing = prompt.arguments?.find((argument) => argument.required && !Object.hasOwn(given, argument.name))
    if (missing) throw invalid(`The prompt "${name}" needs the argument "${missing.name}".`)
    const prompted = await prompt.get(given, {
      caller,
      canAsk: (kind) => asking?.kinds.includes(kind) === true,
      ask: async (questions) => answersTo(questions, asking, this.#env, `The prompt "${name}"`),
    })
    const messages =
      typeof prompted === 'string' ? [{ role: 'user', content: { type: 'text', text: prompted } }] : prompted
    const { description } = prompt
    return { ...(description !== undefined && { description }), messages: messages as JsonObject[] }
  }

  async complete(name: string, argument: string, value: string): Promise<JsonObject> {
    const { complete } = this.#find(name).arguments?.find((candidate) => candidate.name === argument) ?? {}
    const values = complete ? [...(await complete(value))] : []
    const shownValues = values.slice(0, MAX_COMPLETIONS)
    return { values: shownValues, total: values.length, hasMore: values.length > shownValues.length }
  }

  #find(name: string): McpPrompt {
    const prompt = this.#prompts.get(name)
    if (prompt) return prompt
    throw invalid(`There is no prompt "${name.slice(0, 100)}". Use prompts/list to see all prompts.`)
  }
}

/** Removes the functions of an offer. */
function shown(offer: object): JsonObject {
  return Object.fromEntries(Object.entries(offer).filter(([, value]) => typeof value !== 'function')) as JsonObject
}

/** A part matches all characters except a slash. */
function patternOf(uri: string): RegExp {
  const source = uri.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(PART, '(?<$1>[^/]+)')
  return new RegExp(`^${source}$`)
}

function decodeAll(groups: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decode(value)]))
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch (cause) {
    throw new Fault('malformed', 'The address of the resource has an invalid percent-encoding.', { cause })
  }
}

function textsIn(args: unknown = {}): Record<string, string> {
  if (!isJsonObject(args) || Object.values(args).some((value) => typeof value !== 'string')) {
    throw invalid('"arguments" must be an object with string values.')
  }
  return args as Record<string, string>
}

function invalid(message: string): Fault {
  return new Fault('malformed', message)
}
