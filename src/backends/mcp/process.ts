/**
 * Runs an MCP server as a child process. It inherits only the variables that a process needs to start; the import
 * declares the rest.
 */
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { HAS_GROUPS } from '../../platform/processes.ts'
import type { Library } from './library.ts'
import type { McpParts } from './parts.ts'
import type { ProcessTransport } from './process-transport.ts'
import type { ProcessSettings } from './settings.ts'

/** Besides `PATH`: Windows starts no program without these. */
const INHERITED = new Set(['PATH', 'PATHEXT', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'TEMP'])
/** How many characters of its standard error are kept for the log, counted from the end. */
const TAIL = 2_000

type ServerTransport = ProcessTransport | StdioClientTransport

export interface ServerProcess {
  transport: ServerTransport
  /** The end of its standard error. */
  said(): string
}

/**
 * Calls `closesItself` when the transport closes. It returns true if a message was too large, and false if this server
 * closed the transport.
 */
export async function openProcess(
  { command, args, env, maxBytes }: ProcessSettings,
  parts: McpParts,
  { ProcessTransport, StdioClientTransport, DEFAULT_INHERITED_ENV_VARS }: Library,
  signal: AbortSignal,
  closesItself: () => boolean,
): Promise<ServerProcess> {
  // By default the transport also passes other variables, including the user's name and home folder.
  const hidden = DEFAULT_INHERITED_ENV_VARS.filter((name) => !INHERITED.has(name)).map((name) => [name, undefined])
  // The library's own transport finds programs such as npx.cmd on Windows, where there are no process groups.
  const TransportOfSystem = HAS_GROUPS ? ProcessTransport : StdioClientTransport
  const transport = new TransportOfSystem({
    command,
    args: [...args],
    env: { ...Object.fromEntries(hidden), ...(await resolveEnv(env, parts, signal)) },
    cwd: parts.folder,
    stderr: 'pipe',
    maxBufferSize: maxBytes,
  })
  const close = transport.close.bind(transport)
  transport.close = async () => {
    // Closing the transport would ask the process to end and wait while it keeps writing.
    if (closesItself()) kill(transport.pid, parts)
    await close()
  }
  return { transport, said: tailOf(transport, parts) }
}

async function resolveEnv(
  env: ProcessSettings['env'],
  { secret }: McpParts,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const resolved = Object.entries(env).map(
    async ([name, value]) => [name, typeof value === 'string' ? value : await secret(value.secretRef, signal)] as const,
  )
  return Object.fromEntries(await Promise.all(resolved))
}

/**
 * Redacts the output as one stream before truncating it: a secret may be split over two chunks, and half a secret is
 * not found.
 */
function tailOf({ stderr }: ServerTransport, { log, redactBytes }: McpParts): () => string {
  const cleaning = redactBytes()
  const decoder = new TextDecoder()
  let tail = ''
  const hear = (bytes: Uint8Array) => {
    const text = decoder.decode(bytes, { stream: true })
    if (text === '') return
    tail = (tail + text).slice(-TAIL)
    log.debug({ stderr: text.slice(0, TAIL) }, 'MCP server standard error')
  }
  stderr?.on('data', (piece: Buffer) => hear(cleaning.push(piece)))
  stderr?.on('end', () => hear(cleaning.end()))
  return () => {
    hear(cleaning.end())
    return tail
  }
}

function kill(pid: number | null, { log }: McpParts): void {
  try {
    if (pid !== null) process.kill(pid, 'SIGKILL')
  } catch (err) {
    log.debug({ err, pid }, 'an MCP server had exited before it was killed')
  }
}
