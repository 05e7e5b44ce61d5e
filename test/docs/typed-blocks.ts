/**
 * Type-checks the TypeScript blocks of the pages in one program, as if each were a file in a project with the package
 * installed. The comment above a block lists the names that the reader's program must define: `given: db, orders`.
 */
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import ts from 'typescript'
import { type Block, ROOT } from './pages.ts'

/** Blocks may omit these imports if the page shows them once. */
const GLOBALS = `
declare global {
  const operation: typeof import('callplane').operation
  const createServer: typeof import('callplane').createServer
  const importTools: typeof import('callplane').importTools
  const z: typeof import('zod').z
  const test: typeof import('vitest').test
  const expect: typeof import('vitest').expect
  /** The reader's own. */
  const operations: readonly import('callplane').OperationDefinition[]
}
export {}
`

export interface TypedFile {
  readonly path: string
  readonly text: string
  readonly block: Block
}

/**
 * The pages of one folder become files of one folder, so that a block can import another by the name in its comment. A
 * name that begins with a slash is a path in the repository.
 */
export function filesOf(blocks: readonly Block[]): TypedFile[] {
  return blocks.map((block) => {
    const name = settingOf(block, 'file') ?? `${basename(block.page)}-${block.line}.ts`
    const given = (settingOf(block, 'given') ?? '').split(/,\s*/).filter((word) => word !== '')
    const declared = given.map((word) =>
      word.startsWith('type ') ? `type ${word.slice(5)} = any` : `declare const ${word}: any`,
    )
    return {
      path: name.startsWith('/') ? join(ROOT, name) : join(ROOT, '.doc-blocks', dirname(block.page), name),
      text: `${block.code}\n${declared.join('\n')}\nexport {}\n`,
      block,
    }
  })
}

/** Parses the settings of a comment: `<!-- file: a.ts; given: db -->` has two. */
export function settingOf({ note }: Block, name: string): string | undefined {
  const settings = (note ?? '').split(/;\s*/)
  return settings
    .find((setting) => setting.startsWith(`${name}:`))
    ?.slice(name.length + 1)
    .trim()
}

/**
 * The settings of most projects: `strict`, and no more. The `given` names have no type, so nothing can be inferred from
 * them.
 */
const RELAXED = {
  exactOptionalPropertyTypes: false,
  noImplicitAny: false,
  noUnusedLocals: false,
  noUnusedParameters: false,
}

/** Returns one line for each error: the page, the line in it, and the compiler's message. */
export function mistakesIn(files: readonly TypedFile[]): string[] {
  const options = { ...compilerOptions(), ...RELAXED }
  const globals = join(ROOT, '.doc-blocks/globals.ts')
  const texts = new Map([[globals, GLOBALS], ...files.map(({ path, text }) => [path, text] as const)])
  const program = ts.createProgram({ rootNames: [...texts.keys()], options, host: hostOf(options, texts) })
  const blocks = new Map(files.map(({ path, block }) => [path, block]))
  return [...texts.keys()].flatMap((path) => {
    const source = program.getSourceFile(path)
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    return found.map((diagnostic) => wordsOf(diagnostic, blocks.get(path)))
  })
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'))
  // Fetch hosts and agent SDKs need the DOM types.
  config.compilerOptions.lib.push('dom')
  return ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT).options
}

/** The files of the pages exist only in memory; all others are on disk. */
function hostOf(options: ts.CompilerOptions, texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const folders = new Set([...texts.keys()].flatMap((path) => parentsOf(path)))
  return {
    ...host,
    fileExists: (path) => texts.has(path) || host.fileExists(path),
    directoryExists: (path) => folders.has(path) || (host.directoryExists?.(path) ?? true),
    readFile: (path) => texts.get(path) ?? host.readFile(path),
    getSourceFile: (path, version, ...rest) => {
      const text = texts.get(path)
      return text === undefined
        ? host.getSourceFile(path, version, ...rest)
        : ts.createSourceFile(path, text, version, true)
    },
  }
}

function parentsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === ROOT ? [] : [parent, ...parentsOf(parent)]
}

function wordsOf({ file, start, messageText }: ts.Diagnostic, block: Block | undefined): string {
  const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line : 0
  const words = ts.flattenDiagnosticMessageText(messageText, ' ')
  return block ? `${block.page}:${block.line + 1 + line} ${words}` : `globals ${words}`
}
