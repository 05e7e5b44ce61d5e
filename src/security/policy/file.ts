/** Reads a policy from a YAML file, or from the default export of a module. */
import { readFile } from 'node:fs/promises'
import { basename, extname, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Document, isMap, isNode, isScalar, LineCounter, type ParsedNode, parseDocument } from 'yaml'
import { Fault } from '../../core/fault.ts'
import type { Path } from './field.ts'
import { type Policy, parsePolicy } from './parse.ts'

const YAML = ['.yaml', '.yml', '.json']
const MODULES = ['.ts', '.mts', '.js', '.mjs']

export async function loadPolicy(file: string): Promise<Policy> {
  const extension = extname(file)
  if (YAML.includes(extension)) return parseYaml(await readText(file), file)
  if (MODULES.includes(extension)) return loadModule(file)
  throw refused(`${nameOf(file)}: a policy file must end in ${[...YAML, ...MODULES].join(', ')}.`)
}

function parseYaml(text: string, file: string): Policy {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const place = (offset: number) => `${nameOf(file)}:${lines.linePos(offset).line}`
  const [problem] = [...document.errors, ...document.warnings]
  if (problem) throw refused(`${place(problem.pos[0])}: this is not YAML: ${problem.message}.`.replace(/\.\.$/, '.'))
  return parsePolicy(plainValue(document, file), {
    name: basename(file),
    placeOf: (path) => place(offsetOf(document, path)),
  })
}

/** Resolves aliases. The library refuses a document with too many of them. */
function plainValue(document: Document, file: string): unknown {
  try {
    return document.toJS()
  } catch (cause) {
    throw refused(`${nameOf(file)}: an alias in it cannot be resolved. Replace it with the value it stands for.`, cause)
  }
}

/**
 * The offset of the last step's name if it is a field, otherwise of its value. Behind an alias, the nearest enclosing
 * place.
 */
function offsetOf(document: Document<ParsedNode>, path: Path): number {
  let offset = document.contents?.range[0] ?? 0
  for (const depth of path.keys()) {
    const parent = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true)
    const step = path[depth]
    const key = isMap(parent)
      ? parent.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === step)?.key
      : undefined
    const node = key ?? (isNode(parent) ? document.getIn(path.slice(0, depth + 1), true) : undefined)
    if (!isNode(node) || !node.range) return offset
    offset = node.range[0]
  }
  return offset
}

async function loadModule(file: string): Promise<Policy> {
  const loaded: { default?: unknown } = await import(pathToFileURL(resolve(file)).href).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw refused(`${nameOf(file)} cannot be loaded: ${reason}`, cause)
  })
  if (loaded.default === undefined) {
    throw refused(`${nameOf(file)} exports no policy. Write: export default definePolicy({ … })`)
  }
  return parsePolicy(loaded.default, { name: basename(file), placeOf: () => nameOf(file) })
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw refused(
      `The policy ${nameOf(file)} cannot be read. Check that it exists and that the server may read it.`,
      cause,
    )
  }
}

function nameOf(file: string): string {
  const short = relative('.', file)
  return short.startsWith('..') ? file : short
}

function refused(message: string, cause?: unknown): Fault {
  return new Fault('policy-invalid', message, { cause })
}
