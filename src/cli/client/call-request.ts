/** Builds the call that a `callplane call` command line describes. */
import { randomUUID } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { text } from 'node:stream/consumers'
import type { CallContext, OutgoingCall } from '../../client/options.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { type CommandIo, usageFault } from '../command.ts'

export interface CallWords {
  op: string
  args: string | undefined
  files: readonly string[]
  context: Omit<CallContext, 'requestId'>
}

const TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
  '.xml': 'application/xml',
  '.zip': 'application/zip',
}

export async function prepareCall(words: CallWords, stdin: CommandIo['stdin']): Promise<OutgoingCall> {
  const args = await readArguments(words.args, stdin)
  const files = await Promise.all(words.files.map(async (file) => readFileWord(file)))
  return {
    operation: words.op,
    args,
    context: { requestId: randomUUID(), ...words.context },
    headers: {},
    media: files.length === 0 ? undefined : Object.fromEntries(files),
  }
}

export async function readArguments(given: string | undefined, stdin: CommandIo['stdin']): Promise<JsonObject> {
  if (given === undefined) return {}
  const source = given === '-' ? 'standard input' : given.startsWith('@') ? given.slice(1) : '--args'
  const json = given === '-' ? await text(stdin) : given.startsWith('@') ? await readText(given.slice(1)) : given
  const value = parseJson(json, source)
  if (!isJsonObject(value)) throw usageFault(`The arguments in ${source} must be a JSON object, such as {"a":1}.`)
  return value
}

function parseJson(json: string, source: string): JsonValue {
  try {
    return JSON.parse(json) as JsonValue
  } catch (thrown) {
    throw usageFault(`The arguments in ${source} are not JSON: ${thrown instanceof Error ? thrown.message : thrown}.`)
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    throw cannotRead(path, thrown)
  }
}

/** `name=path`, or `name=path;type=image/png` if the type does not follow from the file name, as in curl. */
async function readFileWord(text: string): Promise<[name: string, file: File]> {
  const [, name, path, given] = /^([^=]+)=(.+?)(?:;type=([\w.+-]+\/[\w.+-]+))?$/.exec(text) ?? []
  if (name === undefined || path === undefined)
    throw usageFault(`--file is written as name=path, such as file=photo.png, not "${text}".`)
  const type = given ?? TYPES[extname(path).toLowerCase()] ?? 'application/octet-stream'
  try {
    return [name, new File([await openAsBlob(path)], basename(path), { type })]
  } catch (thrown) {
    throw cannotRead(path, thrown)
  }
}

function cannotRead(path: string, thrown: unknown) {
  const code = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : ''
  return usageFault(`The file "${path}" cannot be read${code}.`)
}
