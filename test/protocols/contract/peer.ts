/**
 * A third-party gRPC implementation: connect-node with its JSON codec, for a service whose messages are JSON objects.
 */
import { once } from 'node:events'
import { createSecureServer, createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { create, createFileRegistry, type DescService, fromJson, type JsonObject, toJson } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  file_google_protobuf_struct,
  type Struct,
  StructSchema,
} from '@bufbuild/protobuf/wkt'
import { type CallOptions, createClient, type HandlerContext } from '@connectrpc/connect'
import { connectNodeAdapter, createGrpcTransport } from '@connectrpc/connect-node'
import { onTestFinished } from 'vitest'

/** `google.protobuf.Struct` in JSON is the object itself, so it can represent the Contract's messages unchanged. */
function toolService(): DescService {
  const type = '.google.protobuf.Struct'
  const file = create(FileDescriptorProtoSchema, {
    name: 'orloj/tool/v1/tool.proto',
    package: 'orloj.tool.v1',
    syntax: 'proto3',
    dependency: ['google/protobuf/struct.proto'],
    service: [{ name: 'ToolService', method: [{ name: 'Execute', inputType: type, outputType: type }] }],
  })
  const service = createFileRegistry(file, () => file_google_protobuf_struct).getService('orloj.tool.v1.ToolService')
  if (!service) throw new Error('the service is not in its own file')
  return service
}

// biome-ignore lint/suspicious/noExplicitAny: tests read any members they expect.
type Answer = any

export type GrpcPeer = (request: object, options?: CallOptions) => Promise<Answer>

/** Calls `Execute`. Returns the message, or throws a ConnectError with the status. */
export function grpcPeer(baseUrl: string, nodeOptions: object = {}): GrpcPeer {
  const transport = createGrpcTransport({ baseUrl, useBinaryFormat: false, nodeOptions })
  const client = createClient(toolService(), transport) as unknown as {
    execute(input: Struct, options?: CallOptions): Promise<Struct>
  }
  return async (request, options) => {
    const sent = fromJson(StructSchema, request as JsonObject)
    // A Struct in place of a message is a plain object.
    const received = await client.execute(sent, options)
    return toJson(StructSchema, received)
  }
}

export interface GrpcTool {
  port: number
  /** Number of connections opened so far. */
  connections: number
  requests: { body: Answer; header: Headers }[]
  /** Resolves when the first call has arrived, and when its stream has closed. */
  begun: Promise<void>
  stopped: Promise<void>
  /** Closes every connection, as a restart would. */
  drop(): void
  close(): void
}

/** A tool that responds to `Execute` with the function's return value, or with the ConnectError that it throws. */
export async function startGrpcTool(
  run: (body: Answer, context: HandlerContext) => object | Promise<object>,
  tls?: { key: string; cert: string },
): Promise<GrpcTool> {
  const sessions = new Set<ServerHttp2Session>()
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const tool: GrpcTool = {
    port: 0,
    begun: begun.promise,
    stopped: stopped.promise,
    connections: 0,
    requests: [],
    drop: () => {
      for (const session of sessions) session.destroy()
    },
    close: () => {
      tool.drop()
      server.close()
    },
  }
  const adapter = connectNodeAdapter({
    routes: (router) => {
      router.service(toolService(), {
        execute: async (input: Struct, context: HandlerContext) => {
          const body = toJson(StructSchema, input)
          tool.requests.push({ body, header: context.requestHeader })
          begun.resolve()
          return fromJson(StructSchema, (await run(body, context)) as JsonObject)
        },
      } as never)
    },
  })
  const server = tls ? createSecureServer(tls, adapter) : createServer(adapter)
  server.on('session', (session) => {
    tool.connections++
    sessions.add(session)
  })
  server.on('stream', (stream) => stream.once('close', stopped.resolve))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  tool.port = (server.address() as AddressInfo).port
  onTestFinished(() => tool.close())
  return tool
}
