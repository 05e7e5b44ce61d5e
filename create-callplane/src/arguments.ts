/** The command line of `npm create callplane`. */
import { parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

export const USAGE = `Makes a Callplane project.

Usage: npm create callplane@latest [folder] -- [options]

Options:
  --yes                 Asks nothing. The folder is my-tools if none is named.
  --git                 Runs git init in the new folder.
  --from <file or URL>  Turns an OpenAPI 3.0 or 3.1 document (YAML or JSON) into declared tools.
  --server <URL>        With --from: the address of the API, instead of those in the document.
  --namespace <name>    With --from: the namespace of the tools (default: the title of the API).
  --allow-private       With --from: the API may be on this machine or in a private network.
  --no-results          With --from: leaves out the schemas of results, so that responses are not checked.
  --callplane <version> The version of callplane to depend on, or the path of a packed one.
  --help                Shows this text.
`

export interface FromOptions {
  readonly document: string
  readonly server: string | undefined
  readonly namespace: string | undefined
  readonly allowPrivate: boolean
  readonly results: boolean
}

export interface Wishes {
  readonly folder: string | undefined
  readonly yes: boolean
  readonly git: boolean
  readonly help: boolean
  readonly callplane: string | undefined
  readonly from: FromOptions | undefined
}

const OPTIONS = {
  yes: { type: 'boolean', short: 'y' },
  git: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  from: { type: 'string' },
  server: { type: 'string' },
  namespace: { type: 'string' },
  'allow-private': { type: 'boolean' },
  'no-results': { type: 'boolean' },
  callplane: { type: 'string' },
} as const

export function parseWishes(args: readonly string[]): Wishes {
  const { values, positionals } = parse(args)
  if (positionals.length > 1) throw new UsageError(`Name one folder, not ${positionals.length}.`)
  const { from, server, namespace } = values
  const [allowPrivate = false, noResults = false] = [values['allow-private'], values['no-results']]
  if (from === undefined && (server !== undefined || namespace !== undefined || allowPrivate || noResults)) {
    throw new UsageError('--server, --namespace, --allow-private and --no-results need --from <openapi.yaml>.')
  }
  return {
    folder: positionals[0],
    yes: values.yes ?? false,
    git: values.git ?? false,
    help: values.help ?? false,
    callplane: values.callplane,
    from: from === undefined ? undefined : { document: from, server, namespace, allowPrivate, results: !noResults },
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (cause) {
    const [reason] = cause instanceof Error ? cause.message.split('. ') : [String(cause)]
    throw new UsageError(`${reason}. "npm create callplane@latest -- --help" lists the options.`, { cause })
  }
}
