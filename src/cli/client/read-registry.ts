/** Reads a registry from the place that a user names: a server, a saved document, or a file or folder of operations. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { JsonValue } from '../../core/json.ts'
import { type CommandIo, usageFault } from '../command.ts'
import type { ServerSettings } from '../serve/application.ts'
import { findModules } from '../serve/modules.ts'
import { Remote } from './remote.ts'

export interface Access {
  token?: string
}

export function isAddress(place: string): boolean {
  return /^https?:\/\//i.test(place)
}

export async function readRegistry(
  place: string,
  access: Access,
  io: CommandIo,
  transportsOf: (settings: ServerSettings) => readonly string[] = () => [],
): Promise<unknown> {
  if (isAddress(place)) return fetchRegistry(place, access, io)
  if (!existsSync(place)) throw usageFault(`"${place}" is neither an address nor an existing file or folder.`)
  if (place.endsWith('.json')) return parseJson(await readFile(place, 'utf8'), place)
  // Loaded on use: a document needs no server.
  const { loadApplication } = await import('../serve/application.ts')
  const { describeOperations } = await import('../../server/create-server.ts')
  const { operations, settings } = await loadApplication(findModules(place))
  return describeOperations(operations, Date.now(), transportsOf(settings))
}

async function fetchRegistry(place: string, access: Access, io: CommandIo): Promise<unknown> {
  const isDocument = /\/ops$|\.json$/.test(new URL(place).pathname)
  const remote = new Remote({ ...access, url: place }, io)
  const response = await remote.fetch(isDocument ? place : '/.well-known/ops')
  if (response.status !== 200)
    throw usageFault(`${response.url} responded with ${response.status} instead of a registry.`)
  return parseJson(await response.text(), place)
}

function parseJson(text: string, place: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch (cause) {
    throw usageFault(`${place} is not JSON. Pass the document that a server returns at /.well-known/ops.`, cause)
  }
}
