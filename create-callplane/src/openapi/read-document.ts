/** Reads an OpenAPI document from a file or a URL. Size, depth and aliases are bounded: the document is not trusted. */
import { readFileSync, statSync } from 'node:fs'
import { parseDocument } from 'yaml'
import { UsageError } from '../usage-error.ts'
import type { Json } from './json.ts'

export const MAX_BYTES = 32 * 1024 * 1024
const MAX_DEPTH = 100
/** A page of aliases can stand for gigabytes. */
const MAX_ALIASES = 100
const TIMEOUT_MS = 30_000

export function isUrl(place: string): boolean {
  return /^https?:\/\//i.test(place)
}

export async function fetchText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw new UsageError(`${url} answers with HTTP ${response.status}. Check the address.`)
    const pieces: Uint8Array[] = []
    let bytes = 0
    for await (const piece of response.body ?? []) {
      bytes += piece.length
      if (bytes > MAX_BYTES) throw tooLarge(url)
      pieces.push(piece)
    }
    return new TextDecoder().decode(Buffer.concat(pieces))
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    throw new UsageError(`${url} cannot be read. Check the address, or download the document and name the file.`, {
      cause,
    })
  }
}

export function readText(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found?.isFile()) throw new UsageError(`There is no file ${file}.`)
  if (found.size > MAX_BYTES) throw tooLarge(file)
  return readFileSync(file, 'utf8')
}

/** JSON is parsed as JSON, which is many times faster than as YAML. */
export function parseText(text: string, place: string): Json {
  try {
    const value = /^\s*[{[]/.test(text) ? (parseJson(text) ?? parseYaml(text)) : parseYaml(text)
    if (isDeeperThan(value, MAX_DEPTH)) throw new UsageError(`${place} nests deeper than ${MAX_DEPTH} levels.`)
    return value
  } catch (cause) {
    if (cause instanceof UsageError) throw cause
    const [reason] = cause instanceof Error ? cause.message.split('\n') : [String(cause)]
    throw new UsageError(`${place} is not valid YAML or JSON: ${reason}`, { cause })
  }
}

/** Returns `undefined` for text that only looks like JSON. */
function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

function parseYaml(text: string): Json {
  // The library's check for duplicate keys takes quadratic time. Of two equal keys the last one counts, as in JSON.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: true, logLevel: 'error' })
  const [error] = document.errors
  if (error) throw error
  return document.toJS({ maxAliasCount: MAX_ALIASES })
}

/** Aliases make one object appear in several places, so each is visited once per level at most. */
function isDeeperThan(value: Json, limit: number): boolean {
  let level: ReadonlySet<object> = new Set(typeof value === 'object' && value !== null ? [value] : [])
  for (let depth = 0; level.size > 0; depth++) {
    if (depth >= limit) return true
    const next = new Set<object>()
    for (const one of level) {
      for (const inner of Object.values(one)) if (typeof inner === 'object' && inner !== null) next.add(inner)
    }
    level = next
  }
  return false
}

function tooLarge(place: string): UsageError {
  return new UsageError(`${place} is larger than ${MAX_BYTES / 1024 / 1024} MiB. Split it.`)
}
