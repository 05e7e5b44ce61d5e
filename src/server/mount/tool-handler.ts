/**
 * The Tool Execution API for an application that has its own tools and runs them itself, as a Fetch handler and as a
 * Node request listener. It has no engine: it provides the API, its checks and its exact responses.
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
  type PageSettings,
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

/** A tool of the application. Additional fields are ignored. */
export interface HostTool {
  name: string
  description?: string
  /** JSON Schema. Default: any object. */
  inputSchema?: unknown
  annotations?: ToolAnnotations | null
}

/** A function is called for every request. */
export type ToolsProvider = readonly HostTool[] | (() => readonly HostTool[] | Promise<readonly HostTool[]>)

/** The content, `true` if the tool failed, and the trace id if there is one. */
export type ToolCallOutcome = [content: Content[], isError: boolean, traceId?: string | null | undefined]

/** `request` is passed unless the function takes exactly two parameters. Its body has been read. */
export type ToolCallHandler = (
  name: string,
  args: Record<string, unknown>,
  request: Request,
) => Promise<ToolCallOutcome>

export interface ToolHandlerConfig extends RestOptions {
  /** Prefix of the paths, such as `/explorer`. Default: none. */
  prefix?: string
  /** Limit for a request's body. Default: 1 MiB. */
  maxBodyBytes?: number
  /** Values that are redacted from exception messages. */
  secrets?: readonly string[]
  /** Default: standard output. */
  log?: Log
}

export interface ToolHandler {
  /** For Hono, Next.js, Bun and Deno. A string as second argument is the prefix for this request. */
  fetch(request: Request, prefix?: unknown): Promise<Response>
  /** For `http.createServer`, Express and any other host that takes a Node request listener. */
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
    // Hosts pass further arguments after the request, such as an environment or a server.
    fetch: (request, at) => (typeof at === 'string' ? fetch(request, parsePrefix(at)) : fetch(request)),
    node: createRequestListener(routesAt(prefix), { fallback, log }),
  }
}

export interface ToolSurface {
  /** `/tools/{name}` and the paths below it. */
  tools(prefix: string): Route[]
  /** The tool list and the explorer page. `frame` puts the list into another page. */
  explorer(prefix: string, frame?: FrameList): Route[]
}

export type FrameList = NonNullable<PageSettings['frame']>

/** The API for any tool host. */
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
    explorer: (prefix, frame) => createExplorerRoutes(host, prefix, { ...page, ...(frame && { frame }) }),
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
  // Serialized here, so that an error counts as the handler's failure.
  JSON.stringify(content)
  return encodeResult(content, Boolean(isError), typeof traceId === 'string' ? traceId : undefined)
}

function messageOf(thrown: unknown): string {
  if (thrown instanceof Error && thrown.message !== '') return thrown.message
  return typeof thrown === 'string' && thrown !== ''
    ? thrown
    : "The tool failed without a message. Check the server's log."
}

function parsePrefix(prefix: string): string {
  const trimmed = prefix.replace(/\/+$/, '')
  if (trimmed === '' || /^(?:\/[\w.~-]+)+$/.test(trimmed)) return trimmed
  throw new Fault('malformed', `"${prefix}" cannot be a prefix. Use a path such as /explorer.`)
}
