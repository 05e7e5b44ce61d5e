/** The body of a request, and the result that a response becomes. */
import { isObject, type Json, member, objectAt } from './json.ts'
import { quoted, type References } from './references.ts'
import type { SchemaWriter } from './schemas.ts'
import { Unmappable } from './unmappable.ts'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/
const FORM = 'application/x-www-form-urlencoded'

export interface MappedBody {
  readonly schema: unknown
  readonly required: boolean
  readonly contentType: string
}

/** `undefined` if the operation has no body, or an optional one that cannot be sent. */
export function mapBody(
  given: Json | undefined,
  from: string,
  references: References,
  schemas: SchemaWriter,
): MappedBody | undefined {
  if (given === undefined) return undefined
  const { value, file } = references.follow(given, from)
  const contents = contentsOf(value)
  const required = member(value, 'required') === true
  const chosen =
    contents.find(([type]) => JSON_TYPE.test(type)) ??
    contents.find(([type]) => type === FORM || type.startsWith('text/')) ??
    contents.find(([type]) => type === '*/*')
  if (chosen) {
    const [type, content] = chosen
    const schema = schemas.write(member(content, 'schema'), file)
    return { schema, required, contentType: type === '*/*' ? 'application/json' : type }
  }
  if (!required || contents.length === 0) return undefined
  throw new Unmappable(`its body is ${contents.map(([type]) => quoted(type)).join(' or ')}`)
}

/**
 * The schema of the result, or `undefined` if responses differ too much to have one. An operation that answers with
 * bytes cannot be a tool, because the result of a tool is JSON or text.
 */
export function mapResult(
  responses: Json | undefined,
  from: string,
  references: References,
  schemas: SchemaWriter,
): unknown {
  const successes = Object.entries(isObject(responses) ? responses : {}).filter(([status]) =>
    /^2(?:\d\d|XX)$/i.test(status),
  )
  const found = successes.map(([, response]) => {
    const { value, file } = references.follow(response, from)
    return { contents: contentsOf(value), file }
  })
  const types = found.flatMap(({ contents }) => contents.map(([type]) => type))
  if (
    types.length > 0 &&
    types.every(
      (type) => !JSON_TYPE.test(type) && !type.startsWith('text/') && type !== '*/*' && type !== 'application/xml',
    )
  ) {
    throw new Unmappable(`it answers with ${[...new Set(types)].map(quoted).join(' or ')}`)
  }
  const [only] = found
  if (!only || found.length > 1 || only.contents.length !== 1) return undefined
  const [[type, content]] = only.contents as [readonly [string, Json]]
  return JSON_TYPE.test(type) ? schemas.write(member(content, 'schema'), only.file) : undefined
}

/** Media types without their parameters. */
function contentsOf(value: Json | undefined): (readonly [string, Json])[] {
  return Object.entries(objectAt(value, 'content')).map(([type, content]) => {
    const [plain = ''] = type.split(';')
    return [plain.trim().toLowerCase(), content] as const
  })
}
