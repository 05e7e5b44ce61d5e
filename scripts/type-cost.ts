/**
 * Measures what operations cost the type checker: it generates a program with many of them in memory and checks it. As
 * a script, it prints the figures beside the baseline. Instantiations are the same on every machine; the time is not.
 */
import { resolve } from 'node:path'
import ts from 'typescript'

export interface TypeCost {
  operations: number
  instantiations: number
  checkMs: number
  problems: readonly string[]
}

/** Instantiations by number of operations, measured before an operation kept the types of its schemas. */
export const BASELINE: Readonly<Record<100 | 500, number>> = { 100: 111_501, 500: 525_101 }

const ROOT = resolve(import.meta.dirname, '..')

/** Cycles through four kinds of schema, each with its own arguments, so that the checker's cache does not help. */
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

/** Returns one cost for each number of operations. */
export function measureTypeCosts(counts: readonly number[]): TypeCost[] {
  const file = resolve(ROOT, 'scripts/made-up-operations.ts')
  const options = { ...readOptions(), noUnusedLocals: false }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  // Parses the libraries' files once for all programs.
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

/** One line with the count, the baseline and the difference. */
export function describeTypeCost({ operations, instantiations, checkMs }: TypeCost, baseline: number): string {
  const more = (instantiations / baseline - 1) * 100
  const each = (instantiations / operations).toFixed(0)
  return `${operations} operations: ${instantiations} instantiations, ${each} each; baseline ${baseline}, ${more.toFixed(1)} % more; checked in ${checkMs.toFixed(0)} ms`
}

if (import.meta.main) {
  const [some, many] = measureTypeCosts([100, 500]) as [TypeCost, TypeCost]
  process.stdout.write(`${describeTypeCost(some, BASELINE[100])}\n${describeTypeCost(many, BASELINE[500])}\n`)
}
