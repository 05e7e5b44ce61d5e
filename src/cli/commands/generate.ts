/** `callplane generate`: writes a file for callers from the registry of a server, or checks that it is up to date. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Catalogue, type GeneratedFile, readCatalogue, TARGETS, type Target } from '../../codegen/index.ts'
import { Fault } from '../../core/fault.ts'
import { parseArguments } from '../arguments.ts'
import { isAddress, readRegistry } from '../client/read-registry.ts'
import { REMOTE_OPTIONS } from '../client/remote.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import type { ServerSettings } from '../serve/application.ts'
import { unifiedDifference } from '../terminal/difference.ts'
import { plainText } from '../terminal/text.ts'

const OPTIONS = {
  token: REMOTE_OPTIONS.token,
  out: { type: 'string' },
  check: { type: 'boolean', default: false },
  title: { type: 'string' },
  server: { type: 'string' },
} as const
const KINDS = Object.fromEntries(Object.keys(TARGETS).map((name) => [name, { type: 'boolean' } as const]))

export const generate: Command = {
  help: `
Usage: callplane generate <registry> --<kind> [options]

The registry is the address of a server, a file with the document that a server returns at /.well-known/ops, or a file or
folder of operations, which are loaded but not run.

Kinds:
${Object.entries(TARGETS)
  .map(([name, { summary }]) => `  --${name.padEnd(20)} ${summary}`)
  .join('\n')}

Options:
  --out <file>           Writes this file. Default: standard output.
  --check                Writes nothing. Exits 1 if the file of --out is not what would be written.
  --title <text>         The title of the document (default: Operations).
  --server <url>         The address that the document names, if it is not the one that the registry comes from.
  --token <token>        For servers that require one. Also CALLPLANE_TOKEN. The document then has what this caller may see.

Exit codes: 0 written or up to date, 1 stale, 2 the registry cannot be read.

Examples:
  callplane generate https://api.example.com --types --out operations.d.ts
  callplane generate src/operations --openapi --out openapi.json
  callplane generate src/operations --openapi --out openapi.json --check`,
  async run(io) {
    const { values, positionals } = parseArguments(io.args, { ...OPTIONS, ...KINDS }, 1)
    const { out, check } = values
    if (check && out === undefined) throw usageFault('Pass the file to check: --out openapi.json --check')
    const target = targetOf(values as Readonly<Record<string, unknown>>)
    const [place] = positionals
    if (place === undefined)
      throw usageFault('Pass a server, a document or a folder: callplane generate src/operations')
    const file = target(await readOrRefuse(place, values, io))
    if (out === undefined) {
      io.stdout.write(file.text)
      return EXIT.ok
    }
    return check ? compare(out, file, io) : write(out, file)
  },
}

function targetOf(values: Readonly<Record<string, unknown>>): Target {
  const chosen = Object.entries(TARGETS).filter(([name]) => values[name] === true)
  const [entry, second] = chosen
  if (entry && !second) return entry[1].target
  const kinds = Object.keys(TARGETS).map((name) => `--${name}`)
  throw usageFault(`Pass exactly one of ${kinds.join(', ')}.`)
}

interface Wishes {
  token?: string
  title?: string
  server?: string
}

/** A registry that cannot be read is not a stale file, so it has another exit code. */
async function readOrRefuse(place: string, wishes: Wishes, io: CommandIo): Promise<Catalogue> {
  try {
    return await read(place, wishes, io)
  } catch (thrown) {
    throw thrown instanceof Fault ? usageFault(thrown.message, thrown) : thrown
  }
}

async function read(place: string, { token, title, server }: Wishes, io: CommandIo): Promise<Catalogue> {
  const document = await readRegistry(place, token === undefined ? {} : { token }, io, transportsOf)
  const url = server ?? (isAddress(place) ? serverOf(place) : undefined)
  const catalogue = readCatalogue(document, {
    ...(title !== undefined && { title }),
    ...(url !== undefined && { url }),
  })
  for (const problem of catalogue.problems) print(io.stderr, plainText(`callplane: ${problem}`))
  return catalogue
}

/** The server of a registry's address, which may be that of the document. */
function serverOf(place: string): string {
  const url = new URL(place)
  url.search = ''
  url.hash = ''
  return url.href.replace(/\/\.well-known\/ops$/, '').replace(/\/+$/, '')
}

/** The stream transports of a server with these settings. */
function transportsOf({ mqtt, kafka, webrtc, quic, websocket }: ServerSettings): string[] {
  const others = Object.entries({ mqtt, kafka, webrtc, quic }).filter(([, setting]) => setting)
  return [...others.map(([name]) => name), websocket === false ? 'sse' : 'wss']
}

async function write(out: string, { text }: GeneratedFile): Promise<number> {
  // A file that stays the same keeps its date, so that programs that watch it do nothing.
  if ((await readText(out)) === text) return EXIT.ok
  await mkdir(dirname(out), { recursive: true })
  await writeFile(out, text)
  return EXIT.ok
}

async function compare(out: string, { text }: GeneratedFile, io: CommandIo): Promise<number> {
  // Git may have changed the line breaks.
  const present = (await readText(out))?.replaceAll('\r\n', '\n')
  if (present === text) return EXIT.ok
  const problem = present === undefined ? 'does not exist' : 'is stale'
  print(io.stderr, `callplane: ${out} ${problem}. Run the same command without --check.`)
  if (present !== undefined) print(io.stderr, plainText(unifiedDifference(present, text, out)))
  return EXIT.failed
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined
    throw usageFault(`${file} cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`, thrown)
  }
}
