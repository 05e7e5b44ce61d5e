/** gRPC with JSON: a unary call over one connection on loopback, client and server together. */
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { create, createFileRegistry, type DescService, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  type Struct,
  StructSchema,
} from '@bufbuild/protobuf/wkt'
import { createClient } from '@connectrpc/connect'
import { connectNodeAdapter, createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import { sendUnary } from '../../src/backends/grpc/unary.ts'
import { createGrpcCarrier } from '../../src/carriers/grpc/index.ts'
import { createMemoryLog } from '../../src/testing/fakes/memory-log.ts'
import type { Pair, Work } from './pair.ts'

const PATH = '/bench.v1.ToolService/Execute'
const HOST = '127.0.0.1'
const MAX_BYTES = 1_000_000
const REQUEST: JsonObject = {
  tool_contract_version: 'v1',
  request_id: '0190f0a4-7c1e-7000-8000-000000000000',
  tool: { name: 'calculator_add', operation: 'invoke' },
  input: { a: 2, b: 3 },
}

/** Both servers read the request and respond with the sum. */
function answer({ input }: JsonObject): JsonObject {
  const { a, b } = input as { a: number; b: number }
  return { tool_contract_version: 'v1', status: 'ok', output: { sum: a + b } }
}

function check({ output }: JsonObject): void {
  if ((output as { sum?: number } | undefined)?.sum !== 5) throw new Error('The response is wrong.')
}

async function startOurs(): Promise<Work> {
  const methods = new Map([
    [PATH, async ({ text }: { text: string }) => JSON.stringify(answer(JSON.parse(text) as JsonObject))],
  ])
  const carrier = createGrpcCarrier({ methods, maxBytes: MAX_BYTES, log: createMemoryLog([]) })
  const { port } = await carrier.listen({ host: HOST, port: 0 })
  const session = connect(`http://${HOST}:${port}`)
  const { signal } = new AbortController()
  return {
    async run(times) {
      for (let at = 0; at < times; at++) {
        const request = { path: PATH, headers: {}, text: JSON.stringify(REQUEST), maxBytes: MAX_BYTES, signal }
        const { text = '{}' } = await sendUnary(session, request)
        check(JSON.parse(text) as JsonObject)
      }
    },
    async [Symbol.asyncDispose]() {
      session.close()
      await carrier.close(0)
    },
  }
}

/** The library needs a message type. A `Struct` in JSON is the object itself, so both sides send the same bytes. */
function toolService(): DescService {
  const type = '.google.protobuf.Struct'
  const file = create(FileDescriptorProtoSchema, {
    name: 'bench/v1/tool.proto',
    package: 'bench.v1',
    syntax: 'proto3',
    dependency: ['google/protobuf/struct.proto'],
    service: [{ name: 'ToolService', method: [{ name: 'Execute', inputType: type, outputType: type }] }],
  })
  const service = createFileRegistry(file, () => file_google_protobuf_struct).getService('bench.v1.ToolService')
  if (!service) throw new Error('The service is not in its own file.')
  return service
}

async function startTheirs(): Promise<Work> {
  const service = toolService()
  const execute = (input: Struct) => fromJson(StructSchema, answer(toJson(StructSchema, input) as JsonObject))
  const adapter = connectNodeAdapter({ routes: (router) => void router.service(service, { execute } as never) })
  const server = createServer(adapter)
  await once(server.listen(0, HOST), 'listening')
  const baseUrl = `http://${HOST}:${(server.address() as AddressInfo).port}`
  const sessionManager = new Http2SessionManager(baseUrl)
  const transport = createGrpcTransport({ baseUrl, useBinaryFormat: false, sessionManager })
  const client = createClient(service, transport) as unknown as { execute(input: Struct): Promise<Struct> }
  return {
    async run(times) {
      for (let at = 0; at < times; at++) {
        check(toJson(StructSchema, await client.execute(fromJson(StructSchema, REQUEST))) as JsonObject)
      }
    },
    async [Symbol.asyncDispose]() {
      sessionManager.abort()
      server.close()
    },
  }
}

export const grpc: Pair = {
  name: 'gRPC with JSON',
  operation: 'a unary call, client and server together',
  library: '@connectrpc/connect-node',
  times: 50,
  ours: startOurs,
  theirs: startTheirs,
}
