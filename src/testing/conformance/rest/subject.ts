/** Client of a server of the Tool Execution API. It checks the shape of every received result. */
import type { JsonValue } from '../../../core/json.ts'
import { type JsonMembers, must, mustBeObject, mustBeText } from '../assertions.ts'
import { type Parts, Skip, type Target } from '../case.ts'
import { type HttpAnswer, parseJson, type RequestInfo, sendTo, textOf } from '../http.ts'
import { describePart, nameOf, type Part } from '../parts.ts'

/** No server has a tool of this name. */
export const NO_TOOL = 'no_such_tool_4711'

export const DISABLED = { error: 'Tool execution is disabled.' }

export interface Answered extends HttpAnswer {
  body: JsonMembers
}

export interface Called extends Answered {
  content: readonly JsonMembers[]
  isError: boolean
}

export interface Tool extends Part {
  /** Its name, encoded for a path. */
  path: string
  /** Valid arguments. */
  body: string
}

export class Subject {
  readonly target: Target

  constructor(target: Target) {
    this.target = target
  }

  async send(where: string, request: RequestInfo = {}): Promise<Answered> {
    const answer = await sendTo(this.target, where, request)
    return { ...answer, body: parseJson(answer) }
  }

  post(where: string, body: string, request: RequestInfo = {}): Promise<Answered> {
    const headers = { 'content-type': 'application/json', ...request.headers }
    return this.send(where, { ...request, method: 'POST', headers, body })
  }

  /** The response to a call, unchecked. `name` is the encoded name in the path. */
  attempt(name: string, body = '{}', request: RequestInfo = {}): Promise<Answered> {
    return this.post(`/tools/${name}/call`, body, request)
  }

  /** Calls an existing tool. Expects a result, even for a failure. */
  async call({ path }: Tool, body: string, request: RequestInfo = {}): Promise<Called> {
    const answer = await this.attempt(path, body, request)
    if (answer.status === 403 && answer.body.error === DISABLED.error) {
      throw new Skip('Tool execution is disabled on this server.')
    }
    return checkResult(answer)
  }

  /** The tool with a role. */
  async part(part: keyof Parts): Promise<Tool> {
    const name = nameOf(this.target, part)
    const path = encodeURIComponent(name)
    const { status, body } = await this.send(`/tools/${path}`)
    if (status === 404) throw new Skip(`The server has no tool ${name}.`)
    return this.describe(name, body)
  }

  describe(name: string, { inputSchema }: JsonMembers): Tool {
    const part = describePart(this.target, name, { args: inputSchema as JsonValue })
    return { ...part, path: encodeURIComponent(name), body: JSON.stringify(part.args) }
  }
}

/** Checks MCP's CallToolResult and its status. */
function checkResult(answer: Answered): Called {
  const { body, status, asked } = answer
  const { content, isError } = body
  must(Array.isArray(content), () => `The response to ${asked} has no array "content": ${textOf(answer).slice(0, 200)}`)
  must(typeof isError === 'boolean', `isError in the response to ${asked} is not a boolean.`)
  const expected = isError ? 500 : 200
  must(
    status === expected,
    `The response to ${asked} has isError ${isError} and the status ${status}, not ${expected}.`,
  )
  if ('_meta' in body) mustBeText(mustBeObject(body._meta, '_meta')._trace_id, '_meta._trace_id')
  const items = content.map((item, index) => mustBeObject(item, `content[${index}]`))
  for (const item of items) checkContent(item)
  return { ...answer, content: items, isError }
}

function checkContent({ type, text, mimeType, data }: JsonMembers): void {
  mustBeText(type, 'type of a content object')
  if (type === 'text') must(typeof text === 'string', 'The "text" of text content is not a text.')
  if (type !== 'image' && type !== 'audio') return
  must(/^\w+\/[\w.+-]+/.test(mustBeText(mimeType, 'mimeType')), 'The "mimeType" of an image is not a media type.')
  must(/^[A-Za-z0-9+/]+={0,2}$/.test(mustBeText(data, 'data')), 'The "data" of an image is not base64.')
}
