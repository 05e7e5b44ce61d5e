/**
 * The Tool Execution API for an application that brings its own tools and runs them itself: as a Fetch handler and as a
 * Node request listener. No engine stands behind it; what it offers is the API, its checks and its exact answers.
 */
import { createFetchHandler, toResponse, webRequest } from '../../carriers/fetch/index.ts'
import { createRequestListener, type RequestListener } from '../../carriers/http/index.ts'
import { Fault } from '../../core/fault.ts'
import { isJsonObject, type JsonValue } from '../../core/json.ts'
import type { Exchange, Route } from '../../core/ports/exchange.ts'
import type { Log } from '../../core/ports/runtime.ts'
import {
  type CallToolResult,
  type Content,
  createExplorerRoutes,
  createToolRoutes,
  encodeResult,
  notAnObject,
  refusalAnswer,
  type ToolAnnotations,
  type ToolHost,
  text,
  UNAUTHORIZED,
} from '../../protocols/rest/index.ts'
import { createArgumentCheck } from '../../schemas/index.ts'
import { createRedactor } from '../../security/redaction/redaction.ts'
import { createLog } from '../../telemetry/index.ts'
import { aroundCalls } from '../options/auth-hook.ts'
import { DEFAULT_TITLE, type RestOptions } from '../options/options.ts'

export type { CallToolResult, Content, ValidateResult, ValidationFailure } from '../../protocols/rest/index.ts'

/** A tool as the application has it; more fields than these do no harm. */
export interface HostTool {
  name: string
  description?: string
  /** JSON Schema; without one every object will do. */
  inputSchema?: unknown
  annotations?: ToolAnnotations | null
}

/** A function is asked at every request. */
export type ToolsProvider = readonly HostTool[] | (() => readonly HostTool[] | Promise<readonly HostTool[]>)

/** Content, whether it is a failure of the tool, and the id of its trace, if it has one. */
export type ToolCallOutcome = [content: Content[], isError: boolean, traceId?: string | null | undefined]

/** `request` is handed over unless the function takes exactly two parameters. Its body has been read. */
export type ToolCallHandler = (
  name: string,
  args: Record<string, unknown>,
  request: Request,
) => Promise<ToolCallOutcome>

export interface ToolHandlerConfig extends RestOptions {
  /** Where the paths begin, such as `/explorer`; at the root unless given. */
  prefix?: string
  /** Of a request's body; 1 MiB unless given. */
  maxBodyBytes?: number
  /** Values that are taken out of the messages of exceptions before anybody sees them. */
  secrets?: readonly string[]
  /** Standard output unless given. */
  log?: Log
}

export interface ToolHandler {
  /** For Hono, Next.js, Bun, Deno and workers. A text as second argument is the prefix for this request. */
  fetch(request: Request, prefix?: unknown): Promise<Response>
  /** For `http.createServer`, Express and whatever else takes a Node request listener. */
  node: RequestListener
}

export function createToolHandler(
  tools: ToolsProvider,
  handleCall: ToolCallHandler,
  config: ToolHandlerConfig = {},
): ToolHandler {
  const redactor = createRedactor()
  for (const secret of config.secrets ?? []) redactor.add(secret)
  const log = config.log ?? createLog({ level: 'warn', redactor })
  const prefix = parsePrefix(config.prefix ?? '')
  const host = createHost(tools, handleCall, log, redactor.redact)
  const surface = createToolSurface(host, config, config.maxBodyBytes ?? 1024 * 1024, log)
  const routesAt = (at: string) => [...surface.tools(at), ...surface.explorer(at)]
  const fallback = (_exchange: Exchange, why: Parameters<typeof refusalAnswer>[0]) => refusalAnswer(why)
  const fetch = createFetchHandler(routesAt(''), { fallback, prefix, log })
  return {
    // Hosts pass things of their own after the request: an environment, a server.
    fetch: (request, at) => (typeof at === 'string' ? fetch(request, parsePrefix(at)) : fetch(request)),
    node: createRequestListener(routesAt(prefix), { fallback, log }),
  }
}

export interface ToolSurface {
  /** `/tools/{name}` and what lies below it. */
  tools(prefix: string): Route[]
  /** The list and the page. */
  explorer(prefix: string): Route[]
}

/** The API over any tools, as its options have it. */
export function createToolSurface<T>(
  host: ToolHost<T>,
  { allowExecute = false, authHook, title = DEFAULT_TITLE, projectName, projectUrl }: RestOptions,
  maxBodyBytes: number,
  log: Log,
): ToolSurface {
  const around =
    authHook &&
    aroundCalls(authHook, {
      toRequest: webRequest,
      toResponse: ({ method }, answer) => toResponse({ method, leave: () => undefined }, answer, [], log),
      unauthorized: UNAUTHORIZED,
      log,
    })
  const settings = { allowExecute, maxBodyBytes, ...(around && { around }) }
  const page = {
    title,
    allowExecute,
    ...(projectName !== undefined && { projectName }),
    ...(projectUrl !== undefined && { projectUrl }),
  }
  return {
    tools: (prefix) => createToolRoutes(host, { ...settings, prefix }),
    explorer: (prefix) => createExplorerRoutes(host, prefix, page),
  }
}

function createHost(
  tools: ToolsProvider,
  handleCall: ToolCallHandler,
  log: Log,
  redact: (text: string) => string,
): ToolHost<HostTool> {
  const check = createArgumentCheck()
  const provide = async () => (typeof tools === 'function' ? await tools() : tools)
  const run = async (name: string, args: Record<string, unknown>, exchange: Exchange): Promise<CallToolResult> => {
    try {
      const takesTwo = handleCall.length === 2
      const outcome = takesTwo
        ? await (handleCall as (name: string, args: object) => Promise<unknown>)(name, args)
        : await handleCall(name, args, webRequest(exchange))
      return encodeOutcome(outcome)
    } catch (thrown) {
      log.error({ err: thrown, tool: name }, 'the tool handler failed')
      return encodeResult([text(redact(messageOf(thrown)))], true, undefined)
    }
  }
  return {
    find: async (name) => (await provide()).find((tool) => tool.name === name),
    list: async () => (await provide()).map(summarise),
    describe: (tool) => ({ ...summarise(tool), inputSchema: tool.inputSchema ?? {} }),
    validate({ inputSchema }, args) {
      const errors = check(inputSchema, args)
      return errors.length === 0 ? { valid: true } : { valid: false, errors }
    },
    call: async ({ name }, args: JsonValue, exchange) =>
      isJsonObject(args) ? run(name, args, exchange) : notAnObject(undefined),
  }
}

function summarise({ name, description = '', annotations }: HostTool) {
  return { name, description, ...(annotations && { annotations }) }
}

function encodeOutcome(outcome: unknown): CallToolResult {
  if (!Array.isArray(outcome) || !Array.isArray(outcome[0])) {
    throw new TypeError('The tool handler must return [content, isError, traceId], with content as an array.')
  }
  const [content, isError, traceId] = outcome as [Content[], unknown, unknown]
  // Refused here, where it counts as the handler's failure, and not when the answer is written.
  JSON.stringify(content)
  return encodeResult(content, Boolean(isError), typeof traceId === 'string' ? traceId : undefined)
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message !== '') return thrown.message
  return typeof thrown === 'string' && thrown !== '' ? thrown : 'The tool failed without saying why.'
}

function parsePrefix(prefix: string): string {
  const trimmed = prefix.replace(/\/+$/, '')
  if (trimmed === '' || /^(?:\/[\w.~-]+)+$/.test(trimmed)) return trimmed
  throw new Fault('malformed', `"${prefix}" cannot be a prefix; write a path such as /explorer.`)
}
