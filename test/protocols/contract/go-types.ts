/**
 * Reads a ToolExecutionResponse as Go's encoding/json reads it into Orloj's wire types: a value of the wrong type fails
 * the whole response, names match case-insensitively, and unknown names are skipped.
 */
type Type = 'string' | 'int' | 'bool' | 'map[string]string' | { [field: string]: Type }

const TRACE: Type = { trace_id: 'string', span_id: 'string' }

const RESPONSE: Type = {
  tool_contract_version: 'string',
  request_id: 'string',
  status: 'string',
  output: { result: 'string' },
  usage: { duration_ms: 'int', attempt: 'int' },
  trace: TRACE,
  error: { code: 'string', reason: 'string', retryable: 'bool', message: 'string', details: 'map[string]string' },
}

export interface GoResponse {
  status: string
  output?: { result?: string }
  error?: { code: string; reason: string; retryable: boolean; message: string; details?: Record<string, string> }
}

export function decodeAsGo(text: string): GoResponse {
  return decode(JSON.parse(text), RESPONSE, 'ToolExecutionResponse') as GoResponse
}

function decode(value: unknown, type: Type, at: string): unknown {
  // null leaves a field unchanged.
  if (value === null) return undefined
  if (typeof type === 'object') return decodeStruct(objectOf(value, at), type, at)
  if (type === 'map[string]string') {
    const members = Object.entries(objectOf(value, at))
    return Object.fromEntries(members.map(([name, member]) => [name, decode(member, 'string', `${at}.${name}`) ?? '']))
  }
  const fits = type === 'int' ? Number.isSafeInteger(value) : typeof value === (type === 'bool' ? 'boolean' : 'string')
  if (!fits) throw new TypeError(`json: cannot unmarshal ${typeof value} into Go field ${at} of type ${type}`)
  return value
}

function decodeStruct(given: object, type: { [field: string]: Type }, at: string): object {
  const decoded: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const field = Object.hasOwn(type, name) ? name : Object.keys(type).find((known) => sameFold(known, name))
    if (field !== undefined) decoded[field] = decode(value, type[field] as Type, `${at}.${field}`)
  }
  return decoded
}

function objectOf(value: unknown, at: string): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new TypeError(`json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go field ${at}`)
}

function sameFold(known: string, name: string): boolean {
  return new RegExp(`^${known}$`, 'iu').test(name)
}
