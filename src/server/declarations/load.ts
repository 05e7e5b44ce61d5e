/** Reads declared tools from files. If there are problems, one fault names every problem of every file. */
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { OperationDefinition } from '../../core/operation/operation.ts'
import { fileName } from '../open/file-name.ts'
import type { BackendChecks, Source } from './entry.ts'
import { describeValue, isObject, type Located, type LocatedObject } from './located.ts'
import { type DeclaredOperation, keyOf, parseOperation } from './operation.ts'
import { type Place, Problems } from './problems.ts'
import { quoted, readYaml } from './read.ts'
import { guess } from './shapes.ts'
import { parseImport, type ToolImport } from './tool-import.ts'

const MAX_BYTES = 1024 * 1024

export interface Declarations {
  operations: readonly DeclaredOperation[]
  imports: readonly ToolImport[]
}

export interface DeclarationOptions {
  checks: BackendChecks
  /** Operations defined elsewhere, with their places. */
  taken?: ReadonlyMap<OperationDefinition, Place>
}

export async function loadDeclarations(
  files: readonly string[],
  { checks, taken = new Map() }: DeclarationOptions,
): Promise<Declarations> {
  const problems = new Problems()
  const operations: DeclaredOperation[] = []
  const imports: ToolImport[] = []
  const places = new Map([...taken].map(([definition, place]) => [keyOf(definition), place]))
  for (const file of files) {
    const source: Source = { folder: dirname(file), checks, problems }
    for (const entry of await readEntries(file, problems)) {
      const found = parseEntry(entry, source)
      if (found && 'kind' in found) imports.push(found)
      else if (found) {
        const { definition, key, place } = found
        const first = places.get(key)
        if (first !== undefined) problems.add(place, `${key} is already defined at ${first}. Keep one of the two.`)
        else places.set(key, place)
        operations.push(definition)
      }
    }
  }
  problems.throwIfAny()
  return { operations, imports }
}

function parseEntry(entry: Located, source: Source) {
  if (!isObject(entry)) {
    source.problems.add(
      entry.place,
      `A declared tool is an object that starts with operation: v1:…, not ${describeValue(entry)}.`,
    )
    return undefined
  }
  const [isOperation, isImport] = [entry.fields.has('operation'), entry.fields.has('import')]
  if (isOperation && isImport)
    source.problems.add(entry.place, 'This has both operation and import. Split it into two declarations.')
  else if (isOperation) return parseOperation(entry, source)
  else if (isImport) return parseImport(entry, source)
  else refuseNameless(entry, source.problems)
  return undefined
}

function refuseNameless({ fields, place }: LocatedObject, problems: Problems): void {
  for (const [key, field] of fields) {
    const hint = guess(key, ['operation', 'import'])
    if (hint === '') continue
    problems.add(field.place, `${quoted(key)} declares nothing.${hint}`)
    return
  }
  const advice =
    'Name a tool, such as operation: v1:web.search. A file with something else in it belongs in another folder.'
  problems.add(place, `This declares nothing. ${advice}`)
}

/** One document or several, each a declaration or a list of them. */
async function readEntries(file: string, problems: Problems): Promise<Located[]> {
  const name = fileName(file)
  const before = problems.count
  const text = await readText(file, name, problems)
  if (text === undefined) return []
  const documents = readYaml(text, name, problems)
  if (documents.length === 0 && problems.count === before) {
    problems.add(`${name}:1:1`, 'The file declares nothing. Start with operation: v1:web.search, or remove the file.')
  }
  return documents.flatMap((document) => document.items ?? [document])
}

async function readText(file: string, name: string, problems: Problems): Promise<string | undefined> {
  const bytes = await readBounded(file, MAX_BYTES + 1)
  if (bytes.length > MAX_BYTES) {
    problems.add(`${name}:1:1`, 'The file is larger than 1 MiB, which is the limit. Split it.')
    return undefined
  }
  const text = new TextDecoder().decode(bytes)
  if (!text.includes('\uFFFD')) return text
  problems.add(`${name}:1:1`, 'The file is not UTF-8 text. Save it as UTF-8.')
  return undefined
}

async function readBounded(file: string, maxBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  await using handle = await open(file)
  for await (const piece of handle.createReadStream({ end: maxBytes - 1, autoClose: false })) pieces.push(piece)
  return Buffer.concat(pieces)
}
