/**
 * What operations cost the type checker: a program with so many of them is made up in memory and checked. Prints a
 * table; `Instantiations` is the same on every machine, the time is not.
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
  (i) => `args: z.object({ id${i}: z.string(), count: z.int().default(1) }), result: z.object({ total${i}: z.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: v.object({ id${i}: v.string(), count: v.number() }), result: v.object({ total${i}: v.number() }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: type({ id${i}: 'string', count: 'number' }), result: type({ total${i}: 'number' }),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
  (i) => `args: jsonSchema<{ id${i}: string; count: number }>({}), result: jsonSchema<{ total${i}: number }>({}),
  run: ({ id${i}, count }) => ({ total${i}: id${i}.length + count })`,
]

/** `wrap` is what makes an operation of its options; the identity shows what the schema libraries cost by themselves. */
export function measureTypeCost(operations: number, wrap: 'operation' | 'bare' = 'operation'): TypeCost {
  const source = [
    "import { createServer, jsonSchema, operation } from 'callplane'",
    "import { type } from 'arktype'",
    "import * as v from 'valibot'",
    "import { z } from 'zod'",
    'declare function bare<A, R>(name: string, options: { args: A; result: R; run: (args: any) => unknown }): unknown',
    ...Array.from(
      { length: operations },
      (_, i) => `export const o${i} = ${wrap}('v1:many.o${i}', {\n  ${KINDS[i % KINDS.length]?.(i)},\n})`,
    ),
    wrap === 'operation' ? `void createServer({ operations: [${names(operations)}] })` : '',
  ].join('\n')
  return check(source, operations)
}

function names(operations: number): string {
  return Array.from({ length: operations }, (_, i) => `o${i}`).join(', ')
}

function check(source: string, operations: number): TypeCost {
  const file = resolve(ROOT, 'scripts/made-up-operations.ts')
  const options = { ...readOptions(), noUnusedLocals: false }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists, readFile } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.readFile = (name) => (name === file ? source : readFile(name))
  host.getSourceFile = (name, language, ...rest) =>
    name === file ? ts.createSourceFile(name, source, language) : getSourceFile(name, language, ...rest)
  const program = ts.createProgram([file], options, host)
  const startedAt = performance.now()
  const problems = program.getSemanticDiagnostics(program.getSourceFile(file))
  return {
    operations,
    instantiations: program.getInstantiationCount(),
    checkMs: performance.now() - startedAt,
    problems: problems.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  }
}

function readOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), ts.sys.readFile)
  return ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT).options
}

if (import.meta.main) {
  for (const wrap of ['bare', 'operation'] as const) {
    const [few, many] = [100, 500].map((count) => measureTypeCost(count, wrap)) as [TypeCost, TypeCost]
    const each = (many.instantiations - few.instantiations) / (many.operations - few.operations)
    const { operations, instantiations, checkMs } = many
    process.stdout.write(
      `${wrap}: ${operations} operations, ${instantiations} instantiations, ${each.toFixed(0)} for each further one, checked in ${checkMs.toFixed(0)} ms\n`,
    )
  }
}
