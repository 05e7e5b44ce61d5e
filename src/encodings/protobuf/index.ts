/**
 * Frames as protobuf messages, derived from the frame schema or given as `stream.message`. The package
 * @bufbuild/protobuf is loaded when an operation uses the encoding.
 */
import { createRequire } from 'node:module'
import type { DescMessage, JsonValue as ProtoJson } from '@bufbuild/protobuf'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { FrameWriter } from '../../core/operation/stream.ts'
import { plainJson } from '../plain-json.ts'
import { refuseBytes, unusableFrame } from '../unusable-frame.ts'
import { deriveFile } from './derive.ts'
import { printMessage } from './print.ts'

const require = createRequire(import.meta.url)

export function protobufEncoder(
  operation: string,
  schema: JsonObject,
  given: unknown,
): { encode: FrameWriter['encode']; proto: string } {
  const library = loadProtobuf(operation)
  const message = given === undefined ? derive(library, operation, schema) : asMessage(operation, given)
  const { fromJson, toBinary } = library.base
  return {
    proto: printMessage(message),
    encode(frame) {
      refuseBytes(frame, 'protobuf')
      try {
        // The message has every property of the schema. Others are not sent.
        return toBinary(message, fromJson(message, plainJson(frame) as ProtoJson, { ignoreUnknownFields: true }))
      } catch (thrown) {
        throw unusableFrame(`A frame does not fit the message ${message.typeName}. Fix the handler.`, thrown)
      }
    },
  }
}

interface Library {
  base: typeof import('@bufbuild/protobuf')
  wkt: typeof import('@bufbuild/protobuf/wkt')
}

function derive({ base, wkt }: Library, operation: string, schema: JsonObject): DescMessage {
  const { file, typeName } = deriveFile(operation, schema)
  const registry = base.createFileRegistry(base.create(wkt.FileDescriptorProtoSchema, file), () => undefined)
  return registry.getMessage(typeName) as DescMessage
}

function asMessage(operation: string, given: unknown): DescMessage {
  if (typeof given === 'object' && given !== null && 'kind' in given && given.kind === 'message') {
    return given as DescMessage
  }
  const message = `${operation}: stream.message must be a message of @bufbuild/protobuf, such as PositionSchema of generated code.`
  throw new Fault('malformed', message, { code: 'INVALID_OPERATION' })
}

function loadProtobuf(operation: string): Library {
  try {
    return { base: require('@bufbuild/protobuf'), wkt: require('@bufbuild/protobuf/wkt') }
  } catch (cause) {
    const message = `${operation} encodes frames as protobuf. Install the package: npm install @bufbuild/protobuf`
    throw new Fault('malformed', message, { code: 'PACKAGE_MISSING', cause })
  }
}
