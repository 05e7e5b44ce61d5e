/**
 * Keeps the tools of other servers in the registry: lists them at start-up, and again whenever they change. A tool with
 * an unusable name or schema is left out and logged.
 */
import type { McpParts, McpSettings, Tool } from '../../backends/mcp/index.ts'
import { Fault } from '../../core/fault.ts'
import { parseAuth } from '../../core/operation/credential.ts'
import { completeOperation } from '../../core/operation/defaults.ts'
import type { Operation } from '../../core/operation/operation.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { Environment } from '../../core/ports/runtime.ts'
import type { Credentials, SecretSource } from '../../core/ports/secrets.ts'
import type { Registry } from '../../engine/registry.ts'
import type { ToolIndex } from '../../engine/tools.ts'
import { prepareSchemas } from '../../schemas/index.ts'
import type { ToolImport } from '../declarations/index.ts'
import { tellOfCost } from './operations.ts'

/** How long start-up waits for the other servers. A slower server is imported when it responds. */
const START_MS = 10_000
/** Per server. */
const MAX_TOOLS = 1_000
/** Renewed tokens that stay redacted, per server. */
const MAX_CONCEALED = 50

export interface PreparedImport {
  declared: ToolImport
  settings: McpSettings
}

export interface ImportParts {
  backend: BackendParts
  env: Environment
  registry: Registry
  tools: ToolIndex
  secrets: SecretSource
  credentials: Credentials
  /** Wakes calls that wait for a tool that is available again. */
  wake(): unknown
}

/** Makes all checks that need no connection. */
export async function prepareImports(imports: readonly ToolImport[] = []): Promise<readonly PreparedImport[]> {
  if (imports.length === 0) return []
  const { parseMcpSettings } = await import('../../backends/mcp/index.ts')
  return imports.map((declared) => {
    if (typeof declared?.settings !== 'object' || declared.kind !== 'mcp') throw notAnImport()
    try {
      const settings = parseMcpSettings(declared.settings)
      check(declared, settings)
      return { declared, settings }
    } catch (thrown) {
      if (!(thrown instanceof Fault)) throw thrown
      throw new Fault('malformed', `${declared.place}: ${thrown.message}`, { code: 'INVALID_IMPORT', cause: thrown })
    }
  })
}

function check({ namespace, auth }: ToolImport, settings: McpSettings): void {
  if (/^callplane(?:\.|$)/.test(namespace)) {
    throw new Fault('malformed', 'import.as: names below "callplane" are reserved for this server. Choose another.')
  }
  if (!auth) return
  parseAuth(auth)
  if ('url' in settings) return
  throw new Fault('malformed', 'auth is for a url. Pass secrets to a command with import.env: { NAME: { secretRef } }.')
}

function notAnImport(): Fault {
  return new Fault('malformed', 'An entry of "imports" is not an import. Create each entry with importTools(...).', {
    code: 'INVALID_IMPORT',
  })
}

export interface Imports {
  close(): Promise<void>
}

export async function openImports(prepared: readonly PreparedImport[], parts: ImportParts): Promise<Imports> {
  if (prepared.length === 0) return { close: async () => undefined }
  const { McpConnection } = await import('../../backends/mcp/index.ts')
  let started = false
  // Nothing may be woken before start-up is complete.
  const listing = { ...parts, wake: () => started && parts.wake() }
  const lists = await Promise.all(prepared.map(({ declared }, at) => createToolList(declared, at, listing)))
  const connections = prepared.map(({ declared, settings }, at) => {
    const list = lists[at] as ToolList
    const connection = new McpConnection(settings, partsFor(declared, parts), (found) => list.update(found, connection))
    return connection
  })
  const first = Promise.all(connections.map((connection) => connection.start()))
  const late = Promise.withResolvers<void>()
  const cancel = parts.env.clock.schedule(START_MS, late.resolve)
  await Promise.race([first, late.promise])
  cancel()
  started = true
  return {
    async close() {
      await Promise.all(connections.map((connection) => connection.close()))
    },
  }
}

function partsFor({ auth, folder, namespace, settings }: ToolImport, parts: ImportParts): McpParts {
  const { backend, env, secrets, credentials } = parts
  const conceal = createConcealer(env)
  return {
    ...backend,
    folder,
    log: backend.log.child({ import: namespace }),
    async credential(signal) {
      return auth && credentials.resolve(parseAuth(auth), conceal, signal)
    },
    // Results are searched for secrets only if the server was sent any.
    redact: auth || settings.env ? env.redact : (value) => value,
    redactBytes: env.redactBytes,
    async secret(name, signal) {
      const { value, fields = {} } = await secrets.resolve(name, signal)
      const [only, ...more] = Object.values(fields)
      const found = value ?? (more.length === 0 ? only : undefined)
      if (found !== undefined) return conceal(found)
      throw new Fault(
        'secret-missing',
        `The secret "${name}" has several fields, but a variable holds one value. Use a secret with one value.`,
      )
    },
  }
}

/** A secret that was sent to a server stays redacted, because the server may return it at any time. */
function createConcealer(env: Environment): (value: string) => string {
  const concealed = new Map<string, () => void>()
  return (value) => {
    if (!concealed.has(value)) concealed.set(value, env.conceal(value))
    const [oldest] = concealed
    if (oldest && concealed.size > MAX_CONCEALED) {
      oldest[1]()
      concealed.delete(oldest[0])
    }
    return value
  }
}

type Caller = Parameters<typeof import('../../backends/mcp/index.ts').createMcpBackend>[0]

interface ToolList {
  update(found: readonly Tool[], connection: Caller): void
}

async function createToolList(declared: ToolImport, at: number, parts: ImportParts): Promise<ToolList> {
  const { createMcpBackend, defineTool } = await import('../../backends/mcp/index.ts')
  const { env, registry, tools } = parts
  const source = `import ${at}`
  const log = env.log.child({ import: declared.namespace })
  /** Keyed by the server's own description of each tool: an unchanged tool keeps its validators. */
  let known = new Map<string, Operation>()
  let current: readonly Operation[] = []
  let told = new Set<string>()

  function define(tool: Tool, connection: Caller): Operation {
    const definition = defineTool(tool, declared)
    const schemas = prepareSchemas(definition, tellOfCost(log, definition.name))
    return completeOperation(definition, schemas, createMcpBackend(connection, tool.name, declared.namespace))
  }

  return {
    update(found, connection) {
      const problems: string[] = []
      if (found.length > MAX_TOOLS)
        problems.push(`The server has ${found.length} tools. Only the first ${MAX_TOOLS} are imported.`)
      const defined = new Map<string, Operation>()
      for (const tool of found.slice(0, MAX_TOOLS)) {
        const text = JSON.stringify(tool)
        try {
          defined.set(text, known.get(text) ?? define(tool, connection))
        } catch (thrown) {
          problems.push(Fault.from(thrown).message)
        }
      }
      known = defined
      const wanted = [...defined.values()]
      const others = registry.operations.filter((operation) => !current.includes(operation))
      const objections = tools.objections(wanted, others)
      const unfit = new Set(objections.map(({ operation }) => operation))
      const fit = wanted.filter((operation) => !unfit.has(operation))
      const omissions = isSame(fit, current) ? [] : registry.replace(source, fit)
      const left = new Set(omissions.map(({ operation }) => operation))
      const before = current
      current = fit.filter((operation) => !left.has(operation))
      for (const { why } of [...objections, ...omissions]) problems.push(why.message)
      for (const problem of problems) if (!told.has(problem)) log.warn({ problem }, 'an imported tool is left out')
      told = new Set(problems)
      if (isSame(current, before)) return
      log.info({ tools: current.length }, 'imported the tools of an MCP server')
      parts.wake()
    },
  }
}

function isSame(a: readonly Operation[], b: readonly Operation[]): boolean {
  return a.length === b.length && a.every((operation, at) => operation === b[at])
}
