/** The connection settings of an `import` of kind mcp. */
import { Fault } from '../../core/fault.ts'
import type { BackendSpec } from '../../core/operation/operation.ts'
import { parseRemoteSettings } from '../remote/settings.ts'

export type McpSettings = ProcessSettings | HttpSettings

/** A server that Callplane starts as a process and reaches over standard input and output. */
export interface ProcessSettings {
  readonly command: string
  readonly args: readonly string[]
  /** Its environment variables besides `PATH`. */
  readonly env: Readonly<Record<string, string | { readonly secretRef: string }>>
  readonly maxBytes: number
}

/** A running server, reached over streamable HTTP. */
export interface HttpSettings {
  readonly url: string
  readonly allowPrivate: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
}

/** Maximum size of one message. */
const MAX_BYTES = 4 * 1024 * 1024

const PROCESS = ['command', 'args', 'env', 'maxBytes']
const HTTP = ['url', 'headers', 'allowPrivate', 'maxBytes']

export function parseMcpSettings(spec: BackendSpec): McpSettings {
  const { kind, ...given } = spec
  if (kind !== 'mcp') throw refused('kind', 'must be mcp.')
  if ('command' in given === 'url' in given) {
    throw new Fault(
      'policy-invalid',
      'import needs either command (a server to start) or url (a running server). Write one of the two.',
    )
  }
  const known = 'command' in given ? PROCESS : HTTP
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw refused(unknown, `is not known beside ${known[0]}; there are ${known.slice(1).join(', ')}.`)
  }
  return 'command' in given ? parseProcess(given) : parseHttp(given)
}

function parseProcess({ command, args = [], env = {}, maxBytes = MAX_BYTES }: Record<string, unknown>) {
  if (!isText(command)) throw refused('command', 'must be the program that starts the server, such as npx.')
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === 'string')) {
    throw refused('args', 'must be a list of texts, one for each argument.')
  }
  if (!Number.isSafeInteger(maxBytes) || Number(maxBytes) < 1) {
    throw refused('maxBytes', 'must be a number of bytes, such as 1048576.')
  }
  return { command, args: args as string[], env: parseEnv(env), maxBytes: Number(maxBytes) }
}

function parseEnv(env: unknown): ProcessSettings['env'] {
  if (typeof env !== 'object' || env === null || Array.isArray(env)) {
    throw refused('env', 'must map names to texts or secrets, such as { TOKEN: { secretRef: github } }.')
  }
  for (const [name, value] of Object.entries(env)) {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw refused('env', `has "${name}", which is not a valid variable name.`)
    if (typeof value === 'string' || isSecret(value)) continue
    throw refused(`env.${name}`, 'must be a text in quotes, or { secretRef: … } with the name of a secret.')
  }
  return env as ProcessSettings['env']
}

function isSecret(value: unknown): value is { secretRef: string } {
  if (typeof value !== 'object' || value === null) return false
  const { secretRef, ...more } = value as Record<string, unknown>
  return isText(secretRef) && Object.keys(more).length === 0
}

/** URLs and headers follow the rules for all remote tools, but the error messages name the fields of an import. */
function parseHttp({ url, ...more }: Record<string, unknown>): HttpSettings {
  try {
    const { endpoint, ...rest } = parseRemoteSettings({ kind: 'mcp', endpoint: url, ...more }, MAX_BYTES)
    return { url: endpoint, ...rest }
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    const message = thrown.message.replaceAll('backend.endpoint', 'import.url').replaceAll('backend.', 'import.')
    throw new Fault(thrown.kind, message, { cause: thrown })
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function refused(field: string, problem: string): Fault {
  return new Fault('policy-invalid', `import.${field} ${problem}`)
}
