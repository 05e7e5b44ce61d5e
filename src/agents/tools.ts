/**
 * A server's tools for an agent that does not use MCP: their definitions, and a function that runs one call. An error
 * that the model can correct is a result for the model. Only errors of the application are thrown.
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
  /** Selects the tools for the model by name. Default: all. */
  select?: (name: string) => boolean
  /**
   * The conversation, for providers whose tool call ids are not unique: the same id in another conversation is then
   * another call. Keep the same value when a run is repeated.
   */
  session?: string
  /** How many periods of 30 s to wait for a call before the model is told to ask again. Default: 4. */
  rounds?: number
}

export interface ModelTool {
  name: string
  description: string
  parameters: ObjectSchema
}

/** A call that a model requests. */
export interface ModelCall {
  /** The provider's id. A call with the same id and arguments never runs an operation with effects twice. */
  id: string
  name: string
  /** An object, or its JSON text. */
  args: unknown
}

export interface CallSettings {
  /** Ends the wait and cancels the call. */
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

/** How long to wait for the response after an abort. */
const LEAVE_AFTER_MS = 1_000

class Calls {
  readonly #connection: Connection
  readonly #offered: ReadonlyMap<string, Offered>
  readonly #rounds: number
  readonly #keyFor: ReturnType<typeof createKeys>
  /** Calls that are still running after the wait. The model asks for one again with the same arguments. */
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
      // The application must handle an invalid token and its own abort.
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
   * An abort is delayed: the response may be on its way, and a task with an unknown id cannot be canceled. After the
   * delay there is no task yet, and closing the request cancels the call.
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

  /** Waits until the call has ended or the time is over. A change of state does not use up that time. */
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
    throw new Fault('internal', textOr(said, `${tool.name} failed without a message.`))
  }

  #decode(result: JsonObject, signal: AbortSignal | undefined): Promise<ToolResult> {
    return decodeResult(result, async (uri) => {
      const { contents } = await this.#connection.ask('resources/read', { uri }, uri, { signal })
      const [first] = Array.isArray(contents) ? contents : []
      return isJsonObject(first) && typeof first.text === 'string' ? first.text : undefined
    })
  }

  /** Not awaited: the outcome of the cancellation does not matter to a caller that has aborted. */
  async #cancel(taskId: string | undefined): Promise<void> {
    if (taskId !== undefined) await this.#connection.ask('tasks/cancel', { taskId }, taskId)
  }
}

function taskIn({ resultType, taskId }: JsonObject): string | undefined {
  return resultType === 'task' && typeof taskId === 'string' ? taskId : undefined
}

/** Models send an empty text for a tool without arguments. */
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
  const hint =
    close.length > 0 ? `Did you mean ${close.join(' or ')}?` : `Available tools: ${names.slice(0, 20).join(', ')}.`
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
