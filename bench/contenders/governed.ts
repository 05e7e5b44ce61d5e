/**
 * Callplane called in its own process: an operation with a remote or sandboxed backend, or an operation under a policy.
 */
import { writeFileSync } from 'node:fs'
import { type Caller, createServer, jsonSchema, type OperationDefinition, operation } from '../../src/index.ts'
import type { Contender, ContenderOptions } from './contender.ts'
import { callerAt, operationNames, policyOf } from './policies.ts'
import { createRepeater } from './repeat.ts'

const REMOTE = 'v1:Remote.run'
const CALLER: Caller = { tenant: 'main', issuer: 'bench', subject: 'bench', scopes: ['*'] }
const PAIR = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
} as const

export const start: Contender = async (options) => {
  const { data, rules } = options
  if (data === undefined) throw new Error('Give the governed contender a data folder of its own.')
  const operations = options.backend === undefined ? governed() : [await remote(options, data)]
  const server = await createServer({
    operations,
    data,
    log: 'error',
    ...(rules !== undefined && { policy: policyOf(rules) }),
  })
  const { engine } = server
  const call = (index: number) => {
    const { name } = operations[index % operations.length] as OperationDefinition
    const caller = options.backend === undefined ? callerAt(index) : CALLER
    const args = { a: index, b: 1 }
    const replied = engine.call({ operation: name, args, media: [], requestId: `bench-${index}` }, () => caller)
    return replied instanceof Promise ? replied.then((reply) => check(reply, index)) : check(replied, index)
  }
  return { port: 0, work: createRepeater(call), close: () => server.close(1_000) }
}

function check(reply: object, index: number): void {
  const result = 'result' in reply ? (reply.result as { a?: number }) : {}
  if (result.a !== index) throw new Error(`A call ended as ${JSON.stringify(reply)}.`)
}

function schemas() {
  return {
    args: jsonSchema<{ a: number; b: number }>(structuredClone(PAIR)),
    result: jsonSchema(structuredClone(PAIR)),
  }
}

async function remote({ backend, toolPort }: ContenderOptions, data: string): Promise<OperationDefinition> {
  const endpoint = `http://127.0.0.1:${toolPort}/${backend === 'external' ? 'execute' : 'echo'}`
  const spec =
    backend === 'wasm'
      ? { kind: 'wasm', module: await writeModule(data) }
      : { kind: backend ?? 'http', endpoint, allowPrivate: true }
  return operation(REMOTE, { ...schemas(), timeoutMs: 30_000, backend: spec })
}

function governed(): OperationDefinition[] {
  return operationNames().map((name) => operation(name, { ...schemas(), run: (args) => args }))
}

async function writeModule(data: string): Promise<string> {
  const file = `${data}.wasm`
  writeFileSync(file, await (await import('./echo-wasm.ts')).compileEcho())
  return file
}
