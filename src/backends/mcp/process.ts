/** A server as a child process. It inherits nothing but what it needs to run at all; the rest is declared. */
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Library } from './library.ts'
import type { McpParts } from './parts.ts'
import type { ProcessSettings } from './settings.ts'

/** Besides `PATH`: without these nothing starts on Windows. */
const INHERITED = new Set(['PATH', 'PATHEXT', 'SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'TEMP'])
/** Of what it writes to its standard error, the last so many characters are kept for the log. */
const TAIL = 2_000

export interface ServerProcess {
  transport: StdioClientTransport
  /** The last words on its standard error. */
  said(): string
}

/** `closesItself` is told when the transport closes; true if nobody asked for it, because a message was too large. */
export async function openProcess(
  { command, args, env, maxBytes }: ProcessSettings,
  parts: McpParts,
  { StdioClientTransport, DEFAULT_INHERITED_ENV_VARS }: Library,
  signal: AbortSignal,
  closesItself: () => boolean,
): Promise<ServerProcess> {
  // The transport passes on what it deems safe, the user's name and home included, unless told otherwise.
  const hidden = DEFAULT_INHERITED_ENV_VARS.filter((name) => !INHERITED.has(name)).map((name) => [name, undefined])
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...Object.fromEntries(hidden), ...(await resolveEnv(env, parts, signal)) },
    cwd: parts.folder,
    stderr: 'pipe',
    maxBufferSize: maxBytes,
  })
  const close = transport.close.bind(transport)
  transport.close = async () => {
    // It would ask the process to end, and wait, while it floods on.
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

/** Cleaned as one stream, and cut after that: a secret may be split over two pieces, and half of one is not found. */
function tailOf({ stderr }: StdioClientTransport, { log, redactBytes }: McpParts): () => string {
  const cleaning = redactBytes()
  const decoder = new TextDecoder()
  let tail = ''
  const hear = (bytes: Uint8Array) => {
    const text = decoder.decode(bytes, { stream: true })
    if (text === '') return
    tail = (tail + text).slice(-TAIL)
    log.debug({ stderr: text.slice(0, TAIL) }, 'an MCP server writes to its standard error')
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
    log.debug({ err, pid }, 'an MCP server was gone before it was ended')
  }
}
