/** Routes of the Tool Execution API. A `ToolHost` provides the tools: the engine's or an application's own. */

import { Fault } from '../../core/fault.ts'
import type { JsonObject, JsonValue } from '../../core/json.ts'
import type { Answer, Exchange, Refuse, Route } from '../../core/ports/exchange.ts'
import { redirectInto } from '../../wire/http/pages.ts'
import { parseTraceparent } from '../../wire/traceparent.ts'
import {
  callFaultAnswer,
  EXECUTION_DISABLED,
  errorAnswer,
  FOREIGN_FORM,
  jsonAnswer,
  refusalAnswer,
  resultAnswer,
  toolNotFound,
} from './answers.ts'
import { isForeignForm, readCallArguments, readValidateArguments } from './arguments.ts'
import { type PageSettings, pageAnswer } from './page.ts'
import type { EncodedResult, ToolDetail, ToolSummary, ValidateResult } from './wire.ts'

export interface ToolHost<T> {
  find(name: string): T | undefined | Promise<T | undefined>
  describe(tool: T, name: string): ToolDetail
  list(): readonly ToolSummary[] | Promise<readonly ToolSummary[]>
  validate(tool: T, args: JsonObject, exchange: Exchange): ValidateResult | Promise<ValidateResult>
  /** Throws a fault if the call is refused. Returns the outcome if the tool ran. */
  call(tool: T, args: JsonValue, exchange: Exchange): EncodedResult | Promise<EncodedResult>
}

export interface RestSettings {
  /** Prefix of every path. Empty for the root. */
  prefix: string
  allowExecute: boolean
  maxBodyBytes: number
  /** Wraps the call. May return a response without running it. */
  around?: (exchange: Exchange, run: () => Promise<Answer>) => Promise<Answer>
}

export function createToolRoutes<T>(host: ToolHost<T>, settings: RestSettings): Route[] {
  const rest = new Rest(host, settings)
  const tool = `${settings.prefix}/tools/{name}`
  const refuse: Refuse = (exchange, why) => refuseName(exchange, why, tool) ?? refusalAnswer(why)
  return [
    { path: tool, refuse, methods: { GET: (_exchange, { name = '' }) => rest.describe(name) } },
    {
      path: `${tool}/validate`,
      refuse,
      methods: { POST: (exchange, { name = '' }) => rest.validate(exchange, name) },
    },
    {
      path: `${tool}/call`,
      refuse(exchange, why) {
        if (why.kind === 'method') return refusalAnswer(why)
        if (!settings.allowExecute) return EXECUTION_DISABLED
        const unknown = refuseName(exchange, why, tool)
        if (unknown || why.kind !== 'fault') return unknown ?? refusalAnswer(why)
        return callFaultAnswer(why.fault, parseTraceparent(exchange.header('traceparent'))?.traceId)
      },
      methods: { POST: (exchange, { name = '' }) => rest.call(exchange, name) },
    },
  ]
}

/** Routes of the tool list and the HTML page. */
export function createExplorerRoutes(
  host: Pick<ToolHost<never>, 'list'>,
  prefix: string,
  settings: PageSettings,
): Route[] {
  const refuse: Refuse = (_exchange, why) => refusalAnswer(why)
  const list = async () => jsonAnswer(200, await host.list())
  const page = async (exchange: Exchange) => pageAnswer(await host.list(), exchange, prefix, settings)
  const routes: Route[] = [
    { path: `${prefix}/tools`, refuse, methods: { GET: list } },
    { path: `${prefix}/`, refuse, methods: { GET: page } },
  ]
  if (prefix === '') return routes
  return [...routes, { path: prefix, refuse, methods: { GET: () => redirectInto(prefix) } }]
}

/** A tool name that cannot be decoded is reported as an unknown tool. */
function refuseName(exchange: Exchange, why: Parameters<Refuse>[1], pattern: string): Answer | undefined {
  if (why.kind !== 'fault' || why.fault.code !== 'INVALID_PATH') return undefined
  return toolNotFound(exchange.path.split('/')[pattern.split('/').length - 1] ?? '')
}

class Rest<T> {
  readonly #host: ToolHost<T>
  readonly #settings: RestSettings

  constructor(host: ToolHost<T>, settings: RestSettings) {
    this.#host = host
    this.#settings = settings
  }

  async describe(name: string): Promise<Answer> {
    const tool = await this.#host.find(name)
    return tool === undefined ? toolNotFound(name) : jsonAnswer(200, this.#host.describe(tool, name))
  }

  /** Needs neither `allowExecute` nor authentication, because the tool does not run. Rate limits apply. */
  async validate(exchange: Exchange, name: string): Promise<Answer> {
    const tool = await this.#host.find(name)
    if (tool === undefined) return toolNotFound(name)
    const read = await readValidateArguments(exchange, this.#settings.maxBodyBytes)
    if ('failure' in read) return jsonAnswer(400, { valid: false, errors: [read.failure] })
    return jsonAnswer(200, await this.#host.validate(tool, read.args, exchange))
  }

  /** "Precondition Checks": in this order. The first failed check decides the response. */
  call(exchange: Exchange, name: string): Answer | Promise<Answer> {
    const { allowExecute, maxBodyBytes, around } = this.#settings
    if (!allowExecute) return EXECUTION_DISABLED
    if (isForeignForm(exchange)) return FOREIGN_FORM
    return whenThere(this.#host.find(name), (tool) => {
      if (tool === undefined) return toolNotFound(name)
      return whenThere(readCallArguments(exchange, maxBodyBytes), (args) => {
        const run = () => this.#run(tool, args, exchange, name)
        return around ? around(exchange, async () => run()) : run()
      })
    })
  }

  #run(tool: T, args: JsonValue, exchange: Exchange, name: string): Answer | Promise<Answer> {
    try {
      const result = this.#host.call(tool, args, exchange)
      if (!(result instanceof Promise)) return resultAnswer(result)
      return result.then(resultAnswer, (thrown) => refused(thrown, name))
    } catch (thrown) {
      return refused(thrown, name)
    }
  }
}

/** Creates a promise only if the value is one: an unneeded promise costs as much as encoding the envelope. */
function whenThere<T, R>(value: T | Promise<T>, go: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(go) : go(value)
}

function refused(thrown: unknown, name: string): Answer {
  if (!(thrown instanceof Fault)) throw thrown
  // The tool was removed between the lookup and the call.
  if (thrown.kind === 'unknown-operation' || thrown.kind === 'removed') return toolNotFound(name)
  return errorAnswer(thrown)
}
