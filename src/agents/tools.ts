/**
 * The tools of a server for an agent that does not speak MCP: their definitions, and what runs one call that a model
 * asks for. Whatever a model can do something about is a result for it; only what is wrong with the application is thrown.
 */
import { Fault } from '../core/fault.ts'
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { nearest } from '../core/nearest.ts'
import { META } from '../protocols/mcp/wire.ts'
import { STILL_RUNNING } from '../wire/model-text.ts'
import { Connection, type ToolSource, unlessAborted } from './connection.ts'
import { createKeys } from './keys.ts'
import { paramHeaders } from './param-headers.ts'
import { decodeResult, failed, type ToolResult } from './results.ts'
import { type ObjectSchema, objectSchema } from './schema.ts'

export interface ToolsOptions {
  /** Which tools the model gets, by their names; all of them unless given. */
  select?: (name: string) => boolean
  /**
   * The conversation, for providers whose ids of tool calls are not unique: the same id in another conversation is then
   * another call. Keep it the same when a run is repeated.
   */
  session?: string
  /** How many half minutes a call is waited for before the model is told how to ask again; 4 unless given. */
  rounds?: number
}

export interface ModelTool {
  name: string
  description: string
  parameters: ObjectSchema
}

/** A call as a model asks for it. */
export interface ModelCall {
  /** Given by the provider. The same id with the same arguments never runs an operation with effects twice. */
  id: string
  name: string
  /** An object, or its JSON text. */
  args: unknown
}

export interface CallSettings {
  /** Ends the wait, and cancels the call. */
  signal?: AbortSignal | undefined
}

export interface AgentTools {
  readonly list: readonly ModelTool[]
  call(wanted: ModelCall, settings?: CallSettings): Promise<ToolResult>
}

export async function openTools(source: ToolSource, options: ToolsOptions = {}): Promise<AgentTools> {
  const { select = () => true, session, rounds = 4 } = options
  const connection = new Connection(source)
  const { tools } = await connection.ask('tools/list', {})
  const offered = new Map<string, Offered>()
  for (const tool of Array.isArray(tools) ? tools.filter(isJsonObject) : []) {
    const { name, title = '', description = title, inputSchema } = tool
    if (typeof name !== 'string' || !isJsonObject(inputSchema) || !select(name)) continue
    offered.set(name, { name, description: String(description), inputSchema })
  }
  const calls = new Calls(connection, offered, rounds, createKeys(session))
  return {
    list: [...offered.values()].map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: objectSchema(inputSchema),
    })),
    call: (wanted, settings = {}) => calls.call(wanted, settings.signal),
  }
}

interface Offered {
  name: string
  description: string
  inputSchema: JsonObject
}

/** How long an answer may be on its way. */
const LEAVE_AFTER_MS = 1_000

class Calls {
  readonly #connection: Connection
  readonly #offered: ReadonlyMap<string, Offered>
  readonly #rounds: number
  readonly #keyFor: ReturnType<typeof createKeys>
  /** Calls that a model was told to ask for again, which it does by the same arguments. */
  readonly #running = new Map<string, string>()

  constructor(
    connection: Connection,
    offered: ReadonlyMap<string, Offered>,
    rounds: number,
    keyFor: ReturnType<typeof createKeys>,
  ) {
    this.#connection = connection
    this.#offered = offered
    this.#rounds = rounds
    this.#keyFor = keyFor
  }

  async call({ id, name, args: sent }: ModelCall, signal: AbortSignal | undefined): Promise<ToolResult> {
    signal?.throwIfAborted()
    try {
      const tool = this.#offered.get(name)
      if (!tool) throw unknownTool(name, [...this.#offered.keys()])
      const args = parseArguments(sent, name)
      return await this.#run(tool, args, id, signal)
    } catch (thrown) {
      // A token that is no good is the application's to mend, and an abort is its own wish.
      if (!(thrown instanceof Fault) || thrown.kind === 'unauthenticated') throw thrown
      return failed(thrown)
    }
  }

  async #run(tool: Offered, args: JsonObject, id: string, signal: AbortSignal | undefined): Promise<ToolResult> {
    const asked = `${tool.name} ${canonicalJson(args)}`
    const running = this.#running.get(asked)
    if (running !== undefined) return this.#follow(tool, asked, running, signal)
    const answer = await this.#start(tool, args, await this.#keyFor(id, asked), signal)
    const taskId = taskIn(answer)
    return taskId === undefined ? this.#decode(answer, signal) : this.#follow(tool, asked, taskId, signal)
  }

  /**
   * An abort is not passed on at once: the answer may be on its way, and a task that nobody has heard of cannot be
   * canceled. What takes longer has no task yet, and is canceled by its client's leaving.
   */
  async #start(tool: Offered, args: JsonObject, key: string, signal: AbortSignal | undefined): Promise<JsonObject> {
    const leaving = new AbortController()
    const asking = this.#connection.ask('tools/call', { name: tool.name, arguments: args }, tool.name, {
      headers: paramHeaders(tool.inputSchema, args),
      meta: { [META.idempotencyKey]: key },
      signal: leaving.signal,
    })
    try {
      return await unlessAborted(asking, signal)
    } catch (thrown) {
      if (signal?.aborted) {
        AbortSignal.timeout(LEAVE_AFTER_MS).addEventListener('abort', () => leaving.abort())
        void Promise.allSettled([asking.then((answer) => this.#cancel(taskIn(answer)))])
      }
      throw thrown
    }
  }

  async #follow(tool: Offered, asked: string, taskId: string, signal: AbortSignal | undefined): Promise<ToolResult> {
    try {
      await this.#wait(taskId, signal)
      const task = await this.#connection.ask('tasks/get', { taskId }, taskId, { signal })
      const isOpen = task.status === 'working' || task.status === 'input_required'
      if (isOpen) this.#running.set(asked, taskId)
      else this.#running.delete(asked)
      return isOpen ? failed(stillRunning(tool.name, task.statusMessage)) : await this.#ended(tool, task, signal)
    } catch (thrown) {
      if (signal?.aborted) {
        this.#running.delete(asked)
        void Promise.allSettled([this.#cancel(taskId)])
      }
      throw thrown
    }
  }

  /** Until it has ended or the time is over; a change of state on the way takes nothing of that time. */
  async #wait(taskId: string, signal: AbortSignal | undefined): Promise<void> {
    let seen: string | undefined = 'accepted'
    for (let left = this.#rounds; left > 0; ) {
      const state = await this.#connection.stateOf(taskId, signal)
      if (state === 'complete' || state === 'error') return
      if (state === undefined || state === seen) left--
      seen = state
    }
  }

  async #ended(tool: Offered, task: JsonObject, signal: AbortSignal | undefined): Promise<ToolResult> {
    const { status, result, error, statusMessage } = task
    if (isJsonObject(result)) return this.#decode(result, signal)
    if (status === 'cancelled') throw new Fault('canceled', textOr(statusMessage, `${tool.name} was canceled.`))
    const said = isJsonObject(error) ? error.message : undefined
    throw new Fault('internal', textOr(said, `${tool.name} failed and did not say why.`))
  }

  #decode(result: JsonObject, signal: AbortSignal | undefined): Promise<ToolResult> {
    return decodeResult(result, async (uri) => {
      const { contents } = await this.#connection.ask('resources/read', { uri }, uri, { signal })
      const [first] = Array.isArray(contents) ? contents : []
      return isJsonObject(first) && typeof first.text === 'string' ? first.text : undefined
    })
  }

  /** Nobody waits for it: whether it could still be canceled changes nothing for whoever has aborted. */
  async #cancel(taskId: string | undefined): Promise<void> {
    if (taskId !== undefined) await this.#connection.ask('tasks/cancel', { taskId }, taskId)
  }
}

function taskIn({ resultType, taskId }: JsonObject): string | undefined {
  return resultType === 'task' && typeof taskId === 'string' ? taskId : undefined
}

/** Models write nothing at all for a tool without arguments. */
function parseArguments(sent: unknown, name: string): JsonObject {
  const value = typeof sent === 'string' ? parseJson(sent.trim() === '' ? '{}' : sent, name) : (sent ?? {})
  if (isJsonObject(value)) return value
  throw new Fault('invalid-input', `The arguments of ${name} must be one JSON object, such as {"key": "value"}.`)
}

function parseJson(text: string, name: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('invalid-input', `The arguments of ${name} are not JSON: ${why}. Write one JSON object.`, { cause })
  }
}

function unknownTool(name: string, names: readonly string[]): Fault {
  const close = nearest(name, names, 3)
  const hint = close.length > 0 ? `Did you mean ${close.join(' or ')}?` : `There are: ${names.slice(0, 20).join(', ')}.`
  return new Fault('invalid-input', `There is no tool "${name.slice(0, 100)}". ${hint}`, { code: 'UNKNOWN_TOOL' })
}

function stillRunning(name: string, message: JsonValue | undefined): Fault {
  const progress = typeof message === 'string' && message !== '' ? ` (${message})` : ''
  return new Fault(
    'unavailable',
    `${name} is still running${progress}. Call it again with exactly the same arguments for its result: that joins this call and starts nothing twice.`,
    { code: STILL_RUNNING },
  )
}

function textOr(text: JsonValue | undefined, otherwise: string): string {
  return typeof text === 'string' && text !== '' ? text : otherwise
}
