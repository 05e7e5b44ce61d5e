/** The parameters of an operation: the arguments of the tool, and the place of each in the request. */
import { isObject, type Json, type JsonObject, listAt, member, objectAt, textAt } from './json.ts'
import { quoted, type References } from './references.ts'
import type { SchemaWriter } from './schemas.ts'
import { Unmappable } from './unmappable.ts'

/** Where one argument goes, in the words of a declaration's `request`. */
export type Rule = string | { arg: string; style?: string; explode?: boolean }

export interface MappedParameters {
  readonly properties: Record<string, unknown>
  readonly required: string[]
  readonly path: string
  readonly query: Record<string, Rule>
  readonly headers: Record<string, Rule>
  /** Optional parameters that the tool does not have. */
  readonly dropped: string[]
}

interface Parameter {
  readonly value: JsonObject
  readonly file: string
  readonly in: string
  readonly name: string
  readonly required: boolean
}

/** OpenAPI says that these are ignored: the body, the response and the security decide. */
const IGNORED = ['accept', 'content-type', 'authorization']
/** The server sets these, or does not let a declaration set them. Its own list is in src/backends/remote/settings.ts. */
export const RESERVED = [
  'proxy-authorization',
  'cookie',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'x-tool-contract-version',
  'x-request-id',
]
const PATH_OPERATORS: Readonly<Record<string, string>> = { simple: '', label: '.', matrix: ';' }
const QUERY_STYLES = ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']

export interface ParameterSource {
  readonly references: References
  readonly schemas: SchemaWriter
  /** The header of the credential, in lower case. No argument may set it. */
  readonly credentialHeader: string | undefined
}

export function mapParameters(
  path: string,
  given: readonly { list: readonly Json[]; file: string }[],
  source: ParameterSource,
): MappedParameters {
  if (/[?#]/.test(path)) throw new Unmappable('its path has a query or a fragment')
  const mapped = { properties: {}, required: [], query: {}, headers: {}, dropped: [] } as Omit<MappedParameters, 'path'>
  const all = collect(given, source.references)
  const inPath = new Map(all.filter((one) => one.in === 'path').map((one) => [one.name, one]))
  // The arguments of the path keep their names, because a placeholder has one name only.
  const filled = path.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const parameter = inPath.get(name)
    addArgument(mapped, name, parameter, true, source)
    return `{${operatorOf(parameter?.value)}${placeholderName(name)}${member(parameter?.value, 'explode') === true ? '*' : ''}}`
  })
  if (/[{}]/.test(filled.replaceAll(/\{[^{}]+\}/g, ''))) throw new Unmappable('a brace in its path is not closed')
  for (const one of all) {
    if (one.in === 'query') addQuery(mapped, one, source)
    else if (one.in === 'header') addHeader(mapped, one, source)
    else if (one.in === 'cookie') leaveOut(mapped, one, 'is a cookie')
    else if (one.in !== 'path') leaveOut(mapped, one, `is in ${quoted(one.in)}`)
  }
  return { ...mapped, path: filled }
}

/** Parameters of the operation replace those of the path. */
function collect(given: readonly { list: readonly Json[]; file: string }[], references: References): Parameter[] {
  const found = new Map<string, Parameter>()
  for (const { list, file: from } of given) {
    for (const entry of list) {
      const { value, file } = references.follow(entry, from)
      const [place, name] = [textAt(value, 'in'), textAt(value, 'name')]
      if (!isObject(value) || place === undefined || name === undefined) {
        throw new Unmappable('a parameter has no "name" or no "in"')
      }
      found.set(`${place} ${name}`, { value, file, in: place, name, required: value.required === true })
    }
  }
  return [...found.values()]
}

function operatorOf(parameter: JsonObject | undefined): string {
  const style = textAt(parameter, 'style') ?? 'simple'
  const operator = Object.hasOwn(PATH_OPERATORS, style) ? PATH_OPERATORS[style] : undefined
  if (operator === undefined) throw new Unmappable(`a parameter of its path has the style ${quoted(style)}`)
  return operator
}

function placeholderName(name: string): string {
  if (name === '' || /^[.;]|\*/.test(name)) throw new Unmappable(`its path has the placeholder ${quoted(name)}`)
  return name
}

function addQuery(mapped: Omit<MappedParameters, 'path'>, one: Parameter, source: ParameterSource): void {
  const arg = addArgument(mapped, freeName(mapped, one), one, one.required, source)
  const isJson = contentOf(one) !== undefined
  const style = isJson ? 'json' : (textAt(one.value, 'style') ?? 'form')
  if (!isJson && !QUERY_STYLES.includes(style))
    throw new Unmappable(`the parameter ${quoted(one.name)} has the style ${quoted(style)}`)
  const explode = member(one.value, 'explode') ?? style === 'form'
  const rule = { ...(style !== 'form' && { style }), ...(style === 'form' && explode === false && { explode: false }) }
  const exploded = (style === 'spaceDelimited' || style === 'pipeDelimited') && explode === true
  const extra = exploded ? { explode: true } : {}
  mapped.query[one.name] = Object.keys({ ...rule, ...extra }).length === 0 ? arg : { arg, ...rule, ...extra }
}

function addHeader(mapped: Omit<MappedParameters, 'path'>, one: Parameter, source: ParameterSource): void {
  const lower = one.name.toLowerCase()
  if (IGNORED.includes(lower) || lower === source.credentialHeader) return
  const problem = problemWithHeader(one)
  if (problem !== undefined) {
    leaveOut(mapped, one, problem)
    return
  }
  const arg = addArgument(mapped, freeName(mapped, one), one, one.required, source)
  mapped.headers[one.name] = member(one.value, 'explode') === true ? { arg, explode: true } : arg
}

function problemWithHeader(one: Parameter): string | undefined {
  if (RESERVED.includes(one.name.toLowerCase())) return 'is a header that the server sets'
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(one.name)) return 'is not a valid header'
  return contentOf(one) === undefined ? undefined : 'is a header in JSON'
}

function leaveOut(
  { dropped }: Pick<MappedParameters, 'dropped'>,
  { name, required }: Parameter,
  problem: string,
): void {
  if (required) throw new Unmappable(`the required parameter ${quoted(name)} ${problem}`)
  dropped.push(name)
}

function addArgument(
  { properties, required }: Pick<MappedParameters, 'properties' | 'required'>,
  arg: string,
  parameter: Parameter | undefined,
  isRequired: boolean,
  { schemas }: ParameterSource,
): string {
  if (arg === '__proto__' || arg === '<<') throw new Unmappable(`a parameter is called ${quoted(arg)}`)
  if (parameter === undefined) properties[arg] = { type: 'string' }
  else {
    const content = contentOf(parameter)
    const schema = schemas.write(member(content ?? parameter.value, 'schema'), parameter.file)
    const texts = typeof schema === 'object' ? [textAt(parameter.value, 'description'), schema.description] : []
    const description = [...new Set(texts)].filter(Boolean).join(' ').slice(0, 4_000)
    properties[arg] = typeof schema === 'object' && description !== '' ? { ...schema, description } : schema
  }
  if (isRequired) required.push(arg)
  return arg
}

/** Parameters in different places may have the same name. */
export function freeName(
  { properties }: Pick<MappedParameters, 'properties'>,
  { in: place, name }: { in: string; name: string },
): string {
  let free = name
  for (let number = 1; Object.hasOwn(properties, free); number++)
    free = `${place}_${name}${number === 1 ? '' : `_${number}`}`
  return free
}

/** A parameter may have a media type instead of a style. Only JSON is written that way. */
function contentOf({ value, name }: Parameter): JsonObject | undefined {
  const content = objectAt(value, 'content')
  const [type] = Object.keys(content)
  if (type === undefined) return undefined
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type))
    throw new Unmappable(`the parameter ${quoted(name)} has the type ${quoted(type)}`)
  return objectAt(content, type)
}

export function parametersOf(value: JsonObject, file: string): { list: readonly Json[]; file: string } {
  return { list: listAt(value, 'parameters'), file }
}
