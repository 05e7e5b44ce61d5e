/**
 * Programs that define the same operations with zod, and call each of them once through a typed client. They differ only
 * in what a user of each system writes differently.
 */

export interface Shape {
  namespaces: number
  /** In each namespace. */
  operations: number
}

/** The text of each file, by its path. */
export type Program = ReadonlyMap<string, string>

interface System {
  /** The head of each file with operations. */
  head: string
  /** The operations of a namespace. */
  namespace(name: string, operations: readonly string[]): string
  /** The file that has all namespaces. */
  all(namespaces: readonly string[]): string
  /** Makes `api`. */
  client: string
  /** After the path of an operation. */
  method: string
}

const Z = "import { z } from 'zod'"

const callplane: System = {
  head: "import { operation } from 'callplane'",
  namespace: (name, operations) =>
    operations
      .map(
        (own, at) =>
          `export const ${name}_${own} = operation('v1:${name}.${own}', { args: ${argsOf(own)}, result: ${resultOf(own)}, run: (args) => (${answerOf(own, at)}) })`,
      )
      .join('\n'),
  all: (namespaces) => namespaces.map((name) => `export * from './${name}.ts'`).join('\n'),
  client: [
    "import { createClient } from 'callplane/client'",
    "import type * as operations from './all.ts'",
    "export const api = createClient<typeof operations>({ url: 'http://localhost' })",
  ].join('\n'),
  method: '',
}

const trpc: System = {
  head: "import { t } from './t.ts'",
  namespace: (name, operations) =>
    `export const ${name} = t.router({\n${operations
      .map(
        (own, at) =>
          `  ${own}: t.procedure.input(${argsOf(own)}).output(${resultOf(own)}).mutation(({ input: args }) => (${answerOf(own, at)})),`,
      )
      .join('\n')}\n})`,
  all: (namespaces) =>
    [
      "import { t } from './t.ts'",
      ...namespaces.map((name) => `import { ${name} } from './${name}.ts'`),
      `export const router = t.router({ ${namespaces.join(', ')} })`,
      'export type Router = typeof router',
    ].join('\n'),
  client: [
    "import { createTRPCClient, httpLink } from '@trpc/client'",
    "import type { Router } from './all.ts'",
    "export const api = createTRPCClient<Router>({ links: [httpLink({ url: 'http://localhost' })] })",
  ].join('\n'),
  method: '.mutate',
}

const orpc: System = {
  head: "import { os } from '@orpc/server'",
  namespace: (name, operations) =>
    `export const ${name} = {\n${operations
      .map(
        (own, at) =>
          `  ${own}: os.input(${argsOf(own)}).output(${resultOf(own)}).handler(({ input: args }) => (${answerOf(own, at)})),`,
      )
      .join('\n')}\n}`,
  all: (namespaces) =>
    [
      ...namespaces.map((name) => `import { ${name} } from './${name}.ts'`),
      `export const router = { ${namespaces.join(', ')} }`,
      'export type Router = typeof router',
    ].join('\n'),
  client: [
    "import { createORPCClient } from '@orpc/client'",
    "import { RPCLink } from '@orpc/client/fetch'",
    "import type { RouterClient } from '@orpc/server'",
    "import type { Router } from './all.ts'",
    "export const api: RouterClient<Router> = createORPCClient(new RPCLink({ url: 'http://localhost' }))",
  ].join('\n'),
  method: '',
}

const SYSTEMS = { callplane, trpc, orpc }

export type SystemName = keyof typeof SYSTEMS

/** In the middle of the list, so that an editor has to look for it. */
export const NAMESPACE = 'orders'

export function createProgram(name: SystemName, shape: Shape): Program {
  const system = SYSTEMS[name]
  const namespaces = Array.from({ length: shape.namespaces }, (_, at) =>
    at === Math.floor(shape.namespaces / 2) ? NAMESPACE : `area${at}`,
  )
  const operations = Array.from({ length: shape.operations }, (_, at) => `do${at}`)
  const files = new Map<string, string>(
    namespaces.map((own) => [`${own}.ts`, [system.head, Z, system.namespace(own, operations), ''].join('\n')]),
  )
  files.set('all.ts', `${system.all(namespaces)}\n`)
  if (name === 'trpc')
    files.set('t.ts', "import { initTRPC } from '@trpc/server'\nexport const t = initTRPC.create()\n")
  files.set('api.ts', `${system.client}\n`)
  files.set('calls.ts', callsOf(system, namespaces, operations))
  return files
}

/** One call of each operation, whose result is used as what it is. */
function callsOf({ method }: System, namespaces: readonly string[], operations: readonly string[]): string {
  const calls = namespaces.flatMap((namespace) =>
    operations.map(
      (own, at) =>
        `  total += (await api.${namespace}.${own}${method}({ ${own}: 'a', count: ${at}, kind: 'small' })).total`,
    ),
  )
  return [
    "import { api } from './api.ts'",
    'export async function callAll(): Promise<number> {',
    '  let total = 0',
    ...calls,
    '  return total',
    '}',
    '',
  ].join('\n')
}

/** Every operation has a field of its own name, so that no two have the same type. */
function argsOf(own: string): string {
  return `z.object({ ${own}: z.string(), count: z.number().int().min(0), kind: z.enum(['small', 'large']), tags: z.array(z.string()).optional() })`
}

function resultOf(own: string): string {
  return `z.object({ ${own}: z.string(), total: z.number(), notes: z.array(z.string()) })`
}

function answerOf(own: string, at: number): string {
  return `{ ${own}: args.${own}, total: args.count + ${at}, notes: args.tags ?? [] }`
}
