/**
 * What operations cost the type checker: a program with so many of them is made up in memory and checked. Run by
 * hand it prints the figures; instantiations are the same on every machine, the time is not.
 */
import { resolve } from 'node:path'
import ts from 'typescript'

export interface TypeCost {
  operations: number
  instantiations: number
  checkMs: number
  problems: readonly string[]
}

const ROOT = resolve(import.meta.dirname, '..')

/** Four kinds of schema in turn, each with arguments of its own, so that nothing can be answered from a cache. */
const KINDS: readonly ((index: number) => string)[] = [
  (
    i,
  ) => `args: z.object({ id${i}: z.string(), count: z.int().default(1) }), result: z.object({ total${i}: z.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: v.object({ id${i}: v.string(), count: v.number() }), result: v.object({ total${i}: v.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: type({ id${i}: 'string', count: 'number' }), result: type({ total${i}: 'number' }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: jsonSchema<{ id${i}: string; count: number }>({}), result: jsonSchema<{ total${i}: number }>({}),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
]

/** One cost for each number of operations. */
export function measureTypeCosts(counts: readonly number[]): TypeCost[] {
  const file = resolve(ROOT, 'scripts/made-up-operations.ts')
  const options = { ...readOptions(), noUnusedLocals: false }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  // The libraries' files are parsed once for all programs.
  const parsed = new Map<string, ts.SourceFile | undefined>()
  host.fileExists = (name) => name === file || fileExists(name)
  return counts.map((operations) => {
    const source = programOf(operations)
    host.getSourceFile = (name, language, ...rest) => {
      if (name === file) return ts.createSourceFile(name, source, language)
      if (!parsed.has(name)) parsed.set(name, getSourceFile(name, language, ...rest))
      return parsed.get(name)
    }
    const program = ts.createProgram([file], options, host)
    const startedAt = performance.now()
    const problems = program.getSemanticDiagnostics(program.getSourceFile(file))
    return {
      operations,
      instantiations: program.getInstantiationCount(),
      checkMs: performance.now() - startedAt,
      problems: problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    }
  })
}

function programOf(operations: number): string {
  const indexes = Array.from({ length: operations }, (_, i) => i)
  return [
    "import { createServer, jsonSchema, operation } from 'callplane'",
    "import { type } from 'arktype'",
    "import * as v from 'valibot'",
    "import { z } from 'zod'",
    ...indexes.map((i) => `export const o${i} = operation('v1:many.o${i}', {\n  ${KINDS[i % KINDS.length]?.(i)},\n})`),
    `void createServer({ operations: [${indexes.map((i) => `o${i}`).join(', ')}] })`,
  ].join('\n')
}

function readOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), ts.sys.readFile)
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options
}

if (import.meta.main) {
  for (const { operations, instantiations, checkMs } of measureTypeCosts([100, 500])) {
    const each = (instantiations / operations).toFixed(0)
    process.stdout.write(
      `${operations} operations: ${instantiations} instantiations, ${each} each; checked in ${checkMs.toFixed(0)} ms\n`,
    )
  }
}
