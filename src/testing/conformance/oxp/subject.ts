/** Client of a tool server under test in one of the two dialects. It checks the shape of every response. */
import type { JsonValue } from '../../../core/json.ts'
import { type JsonMembers, must, mustBeObject, mustBeText, mustEqual } from '../assertions.ts'
import { type Parts, Skip, type Target, Unmet } from '../case.ts'
import { type HttpAnswer, parseJson, type RequestInfo, sendTo } from '../http.ts'
import { describePart, nameOf, type Part } from '../parts.ts'

export type Dialect = 'oxp' | 'otc'

export interface Answered extends HttpAnswer {
  /** The unwrapped result of a 200. */
  result: JsonMembers
  body: JsonMembers
}

export class Subject {
  readonly target: Target
  readonly dialect: Dialect
  #list: Promise<JsonMembers[]> | undefined

  constructor(target: Target, dialect: Dialect) {
    this.target = target
    this.dialect = dialect
  }

  send(where: string, request: RequestInfo = {}): Promise<HttpAnswer> {
    return sendTo(this.target, where, request)
  }

  /** Sends one call in the dialect's wrapper. */
  call(call: JsonMembers, request: RequestInfo = {}): Promise<Answered> {
    return this.post(this.dialect === 'otc' ? { $schema: 'otc://1.0', request: call } : call, request)
  }

  async post(body: JsonMembers, request: RequestInfo = {}): Promise<Answered> {
    const headers = { 'content-type': 'application/json', ...request.headers }
    const sent = { ...request, method: 'POST', headers, body: JSON.stringify(body) }
    return this.#check(await this.send('/tools/call', sent))
  }

  /** The tool with a role, by its id without a version. */
  async part(part: keyof Parts): Promise<Part> {
    const id = nameOf(this.target, part)
    const tool = (await this.list()).find((each) => bareId(each) === id)
    if (!tool) throw new Skip(`The server has no tool ${id}.`)
    return this.describe(id, tool)
  }

  describe(id: string, { input_schema: input, output_schema: output }: JsonMembers): Part {
    const args = this.dialect === 'otc' ? (input as JsonMembers | undefined)?.parameters : input
    return describePart(this.target, id, { args: args as JsonValue, result: output as JsonValue })
  }

  /** The listed full versions of a tool. */
  async versionsOf(id: string): Promise<string[]> {
    const listed = (await this.list()).filter((tool) => bareId(tool) === id)
    return listed.map(({ id: full, version }) => String(version ?? String(full).replace(/^.*@/, '')))
  }

  run({ op, args }: Part, more: JsonMembers = {}, request: RequestInfo = {}): Promise<Answered> {
    return this.call({ tool_id: op, input: args, ...more }, request)
  }

  list(): Promise<JsonMembers[]> {
    this.#list ??= this.send('/tools').then((answer) => {
      mustEqual(answer.status, 200, 'status of GET /tools')
      const body = parseJson(answer)
      const key = this.dialect === 'otc' ? 'tools' : 'items'
      const tools = body[key]
      must(Array.isArray(tools), `GET /tools has no array "${key}".`)
      return tools.map((tool, index) => mustBeObject(tool, `${key}[${index}]`))
    })
    return this.#list
  }

  #check(answer: HttpAnswer): Answered {
    try {
      return this.#checked(answer)
    } catch (thrown) {
      throw thrown instanceof Unmet ? new Unmet(thrown.message, { answer }) : thrown
    }
  }

  #checked(answer: HttpAnswer): Answered {
    const body = parseJson(answer)
    if (answer.status === 200) return { ...answer, body, result: this.#checkResult(body) }
    mustBeText(body.message, `message of the ${answer.status} response to ${answer.asked}`)
    if (body.developer_message !== undefined) mustBeText(body.developer_message, 'developer_message')
    must(body.result === undefined && body.success === undefined, 'A refusal has the members of a result.')
    return { ...answer, body, result: {} }
  }

  #checkResult(body: JsonMembers): JsonMembers {
    const result = this.dialect === 'otc' ? mustBeObject(body.result, 'result') : body
    mustBeText(result.call_id, 'call_id')
    must(typeof result.success === 'boolean', 'success is not a boolean.')
    must(result.duration === undefined || typeof result.duration === 'number', 'duration is not a number.')
    if (result.success) must(!('error' in result), 'There is an error although success is true.')
    else checkToolError(result)
    return result
  }
}

export function bareId({ id }: JsonMembers): string {
  return String(id).replace(/@.*/, '')
}

function checkToolError(result: JsonMembers): void {
  must(!('value' in result), 'There is a value although success is false.')
  const error = mustBeObject(result.error, 'error')
  mustBeText(error.message, 'error.message')
  for (const field of ['developer_message', 'additional_prompt_content']) {
    must(error[field] === undefined || typeof error[field] === 'string', `error.${field} is not a text.`)
  }
  must(error.can_retry === undefined || typeof error.can_retry === 'boolean', 'error.can_retry is not a boolean.')
  must(
    error.retry_after_ms === undefined || Number.isInteger(error.retry_after_ms),
    'error.retry_after_ms is not an integer.',
  )
}
