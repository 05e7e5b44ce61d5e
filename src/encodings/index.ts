/** Prepares the stream of an operation: its rules with their defaults, and a writer for each encoding. */
import { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { OperationDefinition, PreparedSchemas } from '../core/operation/operation.ts'
import type { FrameEncoding, FrameWriter, StreamOptions, StreamRules } from '../core/operation/stream.ts'
import { encodeBinary } from './binary.ts'
import { cborEncoder } from './cbor.ts'
import { sealer } from './integrity.ts'
import { encodeJson } from './json.ts'
import { protobufEncoder } from './protobuf/index.ts'

type Encode = FrameWriter['encode']

/** What an encoding may need to know of the operation. */
export interface FrameSubject {
  operation: string
  schema: JsonObject
  options: StreamOptions
}

/** Each returns its encoder at start, so that a missing library or an unsuitable schema is reported then. */
const ENCODINGS: Record<FrameEncoding, (subject: FrameSubject) => { encode: Encode; proto?: string }> = {
  json: () => ({ encode: encodeJson }),
  cbor: ({ operation }) => ({ encode: cborEncoder(operation) }),
  protobuf: ({ operation, schema, options }) => protobufEncoder(operation, schema, options.message),
  binary: () => ({ encode: encodeBinary }),
}

/** `undefined` if the operation is not a stream. */
export function prepareStream(
  { name, stream: options = {} }: OperationDefinition<never>,
  frame: PreparedSchemas['frame'],
): StreamRules | undefined {
  if (!frame) return undefined
  const { encodings = ['json'], integrity = false, overflow = 'wait', transports, track, trusted = false } = options
  if (encodings.length === 0) throw unusable(name, 'stream.encodings is empty. Name at least one encoding.')
  const { schema } = frame
  const writers = new Map<string, FrameWriter>()
  let proto: string | undefined
  for (const encoding of encodings) {
    const prepare = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined
    if (!prepare) {
      throw unusable(name, `"${encoding}" is no encoding of frames. Use one of ${Object.keys(ENCODINGS).join(', ')}.`)
    }
    const prepared = prepare({ operation: name, schema, options })
    proto ??= prepared.proto
    writers.set(encoding, { encode: prepared.encode, ...(integrity && { seal: sealer(integrity) }) })
  }
  return {
    encodings,
    integrity,
    overflow,
    // docs/readings.md#r29
    schemaName: typeof schema.$id === 'string' ? schema.$id : `${name}#frame`,
    schema,
    ...(transports && { transports }),
    ...(!trusted && { parseFrame: frame.parse }),
    ...(proto !== undefined && { proto }),
    ...(track && { track }),
    writer(encoding) {
      const writer = writers.get(encoding)
      if (writer) return writer
      throw unusable(name, `frames cannot be encoded as "${encoding}".`)
    },
  }
}

function unusable(name: string, problem: string): Fault {
  return new Fault('malformed', `${name}: ${problem}`, { code: 'INVALID_OPERATION' })
}
