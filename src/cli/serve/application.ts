/**
 * Loads an application from its files: every operation that its modules export under any name, the two reserved exports
 * `context` and `server`, and the tools that YAML files declare. Operations are recognized by their shape, because the
 * application may use its own copy of this package.
 */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { pathToFileURL } from 'node:url'
import { Fault } from '../../core/fault.ts'
import type { OperationDefinition, Tombstone } from '../../core/operation/operation.ts'
import { loadBackendChecks } from '../../server/build/backends.ts'
import type { Declarations, ToolImport } from '../../server/declarations/index.ts'
import { fileName as nameOf } from '../../server/open/file-name.ts'
import { OPTIONS } from '../../server/options/check-options.ts'
import type { ServerOptions } from '../../server/options/options.ts'
import { isYaml } from './modules.ts'

export type ServerSettings = Partial<Omit<ServerOptions<unknown>, 'operations' | 'context'>>

export interface Application {
  operations: readonly (OperationDefinition | Tombstone)[]
  /** MCP servers whose tools become operations too. */
  imports: readonly ToolImport[]
  context?: object
  settings: ServerSettings
}

export async function loadApplication(files: readonly string[]): Promise<Application> {
  /** Each operation, with the file that first exported it. */
  const operations = new Map<OperationDefinition | Tombstone, string>()
  const context = new OnlyOne<object>('context')
  const settings = new OnlyOne<ServerSettings>('server')
  for (const file of files.filter((file) => !isYaml(file))) {
    for (const [name, value] of Object.entries(await load(file))) {
      if (name === 'context' && !isDefined(value)) context.set(checkContext(value, file), file)
      else if (name === 'server' && !isDefined(value)) settings.set(checkSettings(value, file), file)
      else
        for (const found of [value].flat().filter(isDefined)) {
          if (!operations.has(found)) operations.set(found, nameOf(file))
        }
    }
  }
  const declared = await loadDeclared(files.filter(isYaml), operations)
  if (operations.size + declared.operations.length + declared.imports.length === 0) {
    const places = files.length === 1 ? nameOf(files[0] as string) : `any of the ${files.length} modules`
    throw refused(`No operation is exported by ${places}. Export the value that operation(...) returns.`)
  }
  return {
    operations: [...operations.keys(), ...declared.operations],
    imports: declared.imports,
    settings: settings.value ?? {},
    ...(context.value && { context: context.value }),
  }
}

async function loadDeclared(
  files: readonly string[],
  exported: ReadonlyMap<OperationDefinition | Tombstone, string>,
): Promise<Declarations> {
  // Applications without declarations do not load the code that checks them.
  if (files.length === 0) return { operations: [], imports: [] }
  // Loaded on use: the YAML reader is 72 modules.
  const { loadDeclarations } = await import('../../server/declarations/index.ts')
  const taken = new Map([...exported].flatMap(([entry, file]) => ('removed' in entry ? [] : [[entry, file] as const])))
  return loadDeclarations(files, { checks: await loadBackendChecks(), taken })
}

async function load(file: string): Promise<object> {
  try {
    return await import(pathToFileURL(file).href)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw refused(`${placeOf(cause, file)} cannot be loaded: ${reason}${adviceOn(cause, file)}`, cause)
  }
}

/** `npm init` writes a package.json that makes every `import` a syntax error, and Node's message does not say why. */
function adviceOn(thrown: unknown, file: string): string {
  const manifest =
    thrown instanceof SyntaxError && /\.[jt]s$/.test(file) ? findPackageJSON(pathToFileURL(file)) : undefined
  // Without a package.json, Node's message names the file.
  if (!manifest?.endsWith('package.json') || JSON.parse(readFileSync(manifest, 'utf8')).type === 'module') return ''
  return `. If it uses import and export, set "type": "module" in ${nameOf(manifest)}, or call it ${nameOf(file).replace(/\.([jt]s)$/, '.m$1')}`
}

/**
 * The file, with the line if it is known. The stack of a syntax error starts with its place, which may be in an
 * imported file. For any other error, the useful line is the one in this file.
 */
function placeOf(thrown: unknown, file: string): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const head = /^(?:file:\/\/)?(\/.+):(\d+)\n/.exec(stack)
  if (head) return `${nameOf(decodeURI(head[1] as string))}:${head[2]}`
  const url = pathToFileURL(file).href
  const at = stack.indexOf(`${url}:`)
  const line = at < 0 ? undefined : /^\d+/.exec(stack.slice(at + url.length + 1))?.[0]
  return line === undefined ? nameOf(file) : `${nameOf(file)}:${line}`
}

function isDefined(value: unknown): value is OperationDefinition | Tombstone {
  if (typeof value !== 'object' || value === null || !('name' in value) || typeof value.name !== 'string') return false
  if ('removed' in value) return typeof value.removed === 'object'
  const runs = 'run' in value && typeof value.run === 'function'
  return 'rules' in value && (runs || ('backend' in value && typeof value.backend === 'object'))
}

function checkContext(value: unknown, file: string): object {
  if ((typeof value === 'object' && value !== null) || typeof value === 'function') return value
  throw refused(`${nameOf(file)}: "context" must be an object, or a function that returns one for each call.`)
}

/** Refuses a misspelt setting instead of ignoring it: it may be one that restricts access. */
function checkSettings(value: unknown, file: string): ServerSettings {
  const plain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  if (!plain) throw refused(`${nameOf(file)}: "server" must be an object with options of createServer.`)
  const { operations: _, context: __, ...settings } = OPTIONS
  const unknown = Object.keys(value).find((key) => !Object.hasOwn(settings, key))
  if (unknown === undefined) return value
  throw refused(
    `${nameOf(file)}: "server" has no option "${unknown}". The options are ${Object.keys(settings).join(', ')}.`,
  )
}

class OnlyOne<T extends object> {
  value: T | undefined
  readonly #name: string
  #file = ''

  constructor(name: string) {
    this.#name = name
  }

  set(value: T, file: string): void {
    // The same object again is a re-export.
    if (this.value && this.value !== value) {
      throw refused(`Both ${nameOf(this.#file)} and ${nameOf(file)} export "${this.#name}". Keep one of the two.`)
    }
    this.value = value
    this.#file = file
  }
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault('malformed', message, { code: 'INVALID_APPLICATION', cause })
}
