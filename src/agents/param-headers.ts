/**
 * Repeats arguments in headers where a tool's schema requires it with `x-mcp-header`, as the MCP revision specifies.
 */
import { isJsonObject, type JsonObject } from '../core/json.ts'

export function paramHeaders({ properties }: JsonObject, args: JsonObject): Record<string, string> {
  if (!isJsonObject(properties)) return {}
  const headers = Object.entries(properties).flatMap(([property, schema]) => {
    const name = isJsonObject(schema) ? schema['x-mcp-header'] : undefined
    const value = Object.hasOwn(args, property) ? args[property] : undefined
    if (typeof name !== 'string' || value === undefined || value === null || typeof value === 'object') return []
    return [[`Mcp-Param-${name}`, encode(String(value))]]
  })
  return Object.fromEntries(headers)
}

/** Encodes a value that does not fit a header or looks like an encoded one. */
function encode(value: string): string {
  if (/^[!-~](?:[ -~]*[!-~])?$/.test(value) && !value.startsWith('=?base64?')) return value
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(value)))}?=`
}
