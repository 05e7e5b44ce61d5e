/** The encodings of frames, decoded by software that is not ours. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, createFileRegistry, type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt'
import { jsonSchema, operation } from 'callplane'
import { Decoder } from 'cbor-x'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../../src/core/json.ts'
import type { FrameBytes, StreamOptions, StreamRules } from '../../src/core/operation/stream.ts'
import { deriveFile } from '../../src/encodings/protobuf/derive.ts'
import { buildRegistry } from '../../src/server/build/operations.ts'
import { openSeal } from '../../src/wire/frames/seal.ts'
import { describeWith, pythonClients } from '../engines/engines.ts'
import { python } from '../engines/python.ts'
import { verifies } from '../requirements.ts'

// Python and protoc start slowly on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

const ROBOT = z.object({
  joint: z.string(),
  angle: z.number(),
  step: z.int(),
  moving: z.boolean(),
  load: z.number().optional(),
  fault: z.string().nullable(),
  limits: z.array(z.number()),
  pose: z.object({ x: z.number(), y: z.number() }),
  marks: z.array(z.object({ name: z.string() })),
  counts: z.record(z.string(), z.int()),
  mode: z.enum(['auto', 'manual']),
})

const MOVING = {
  joint: 'elbow ✓',
  angle: -1.5,
  step: 9_007_199_254_740_991,
  moving: true,
  load: 0,
  fault: 'overheated',
  limits: [0.5, 180],
  pose: { x: 1, y: 2.25 },
  marks: [{ name: 'a' }, { name: 'b' }],
  counts: { left: 1, right: -2 },
  mode: 'manual' as const,
}

function rulesOf(frame: Parameters<typeof operation>[1]['frame'], stream: StreamOptions): StreamRules {
  const definition = operation('v1:robot.watch', { frame: frame as never, stream, run: () => [] })
  const registry = buildRegistry([definition], () => ({ kind: 'handler', execute: () => [] }))
  return registry.resolve('v1:robot.watch', 0).stream as StreamRules
}

/** Decodes with the same library, from a descriptor of our own. */
function derived(schema: JsonObject): DescMessage {
  const { file, typeName } = deriveFile('v1:robot.watch', schema)
  const registry = createFileRegistry(create(FileDescriptorProtoSchema, file), () => undefined)
  return registry.getMessage(typeName) as DescMessage
}

function base64(...frames: FrameBytes[]): string[] {
  return frames.map((frame) => Buffer.from(frame as Uint8Array).toString('base64'))
}

describe('protobuf', () => {
  const rules = () => rulesOf(ROBOT, { encodings: ['protobuf'] })

  test('the fields have the numbers of the properties, and the registry has the .proto text', () => {
    expect(rules().proto).toMatchInlineSnapshot(`
      "syntax = "proto3";

      package robot.v1;

      message WatchFrame {
        string joint = 1;
        double angle = 2;
        int64 step = 3;
        bool moving = 4;
        optional double load = 5;
        optional string fault = 6;
        repeated double limits = 7;
        robot.v1.WatchFramePose pose = 8;
        repeated robot.v1.WatchFrameMarks marks = 9;
        map<string, int64> counts = 10;
        string mode = 11;
      }

      message WatchFramePose {
        double x = 1;
        double y = 2;
      }

      message WatchFrameMarks {
        string name = 1;
      }
      "
    `)
  })

  test('a frame comes back as it was; null is absent', () => {
    const { encode } = rules().writer('protobuf')
    const message = derived(rules().schema)
    const back = (frame: object) => toJson(message, fromBinary(message, encode(frame) as Uint8Array))

    expect(back(MOVING)).toEqual({ ...MOVING, step: String(MOVING.step), counts: { left: '1', right: '-2' } })
    expect(back({ ...MOVING, fault: null, load: undefined })).not.toHaveProperty('fault')
  })

  test('any frame of the schema makes the round trip', () => {
    const schema = {
      type: 'object',
      required: ['text', 'amount', 'on', 'list'],
      properties: {
        text: { type: 'string' },
        amount: { type: 'number' },
        on: { type: 'boolean' },
        list: { type: 'array', items: { type: 'string' } },
      },
    } satisfies JsonObject
    const { encode } = rulesOf(jsonSchema(schema), { encodings: ['protobuf'] }).writer('protobuf')
    const message = derived(schema)
    const frame = fc.record({
      text: fc.string({ unit: 'grapheme' }),
      amount: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      on: fc.boolean(),
      list: fc.array(fc.string()),
    })
    fc.assert(
      fc.property(frame, (sent) => {
        const got = toJson(message, fromBinary(message, encode(sent) as Uint8Array), { alwaysEmitImplicit: true })
        expect(got).toEqual(JSON.parse(JSON.stringify(sent)))
      }),
    )
  })

  test('a message may contain itself', () => {
    const tree = {
      $ref: '#/$defs/Node',
      type: 'object',
      properties: { root: { $ref: '#/$defs/Node' } },
      $defs: {
        Node: {
          type: 'object',
          properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Node' } } },
        },
      },
    } satisfies JsonObject
    const message = derived(tree)

    expect(message.fields.map(({ name, message: of }) => [name, of?.name])).toEqual([['root', 'Node']])
  })

  test.each<[string, JsonObject, string]>([
    ['no object', { type: 'string' }, 'the frame is not an object with properties'],
    ['anything', { type: 'object', properties: { a: {} } }, 'the property "a" has no single type'],
    ['a union', { type: 'object', properties: { a: { type: ['string', 'number'] } } }, '"a" is a choice of types'],
    [
      'lists of lists',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'array', items: { type: 'string' } } } } },
      '"a" is a list of lists',
    ],
    [
      'two of one name',
      { type: 'object', properties: { 'a-b': { type: 'string' }, a_b: { type: 'string' } } },
      '"a_b"',
    ],
  ])('%s is refused at start', (_name, schema, message) => {
    expect(() => rulesOf(jsonSchema(schema), { encodings: ['protobuf'] })).toThrow(message)
  })

  test('a given message is used instead, and a frame that does not fit it is refused', () => {
    const given = derived({ type: 'object', properties: { n: { type: 'integer' } } })
    const { encode } = rulesOf(jsonSchema({}), { encodings: ['protobuf'], message: given }).writer('protobuf')

    expect(toJson(given, fromBinary(given, encode({ n: 7 }) as Uint8Array))).toEqual({ n: '7' })
    expect(() => encode({ n: 'seven' })).toThrow(expect.objectContaining({ code: 'INVALID_FRAME' }))
    expect(() => rulesOf(jsonSchema({}), { encodings: ['protobuf'], message: 'Frame' })).toThrow('stream.message')
  })
})

describe('the other encodings', () => {
  test('CBOR has no extension of its library', () => {
    const { encode } = rulesOf(ROBOT, { encodings: ['cbor'] }).writer('cbor')

    expect(new Decoder({ useRecords: false, mapsAsObjects: true }).decode(encode(MOVING) as Uint8Array)).toEqual(MOVING)
    expect(Buffer.from(encode({ a: undefined }) as Uint8Array)).toEqual(Buffer.from(encode({}) as Uint8Array))
    // RFC 8949, appendix A: {"a": 1, "b": [2, 3]}
    expect(Buffer.from(encode({ a: 1, b: [2, 3] }) as Uint8Array).toString('hex')).toMatch(/61610161628202\w{0,2}03$/)
  })

  test('binary passes bytes through, and only bytes', () => {
    const { encode } = rulesOf(jsonSchema({}), { encodings: ['binary'] }).writer('binary')
    const bytes = new Uint8Array([0, 255])

    expect(encode(bytes)).toBe(bytes)
    expect(() => encode('text')).toThrow('Uint8Array')
  })

  test('an encoding that does not exist, and an empty list, are refused at start', () => {
    expect(() => rulesOf(ROBOT, { encodings: ['xml' as 'json'] })).toThrow('"xml" is no encoding of frames')
    expect(() => rulesOf(ROBOT, { encodings: ['toString' as 'json'] })).toThrow('no encoding')
    expect(() => rulesOf(ROBOT, { encodings: [] })).toThrow('empty')
  })

  test('a sealed frame has its number, the algorithm and the checksum before the payload', () => {
    verifies('opencall:201', 'opencall:202')
    const { seal } = rulesOf(ROBOT, { integrity: 'crc32' }).writer('json')
    const frame = seal?.(2 ** 40 + 5, '123456789') as Uint8Array

    // 0xCBF43926 is the published CRC-32 of these nine digits.
    expect(Buffer.from(frame).toString('hex')).toBe(
      `000001000000000501cbf43926${Buffer.from('123456789').toString('hex')}`,
    )
    expect(openSeal(frame)).toMatchObject({ seq: 2 ** 40 + 5 })
  })
})

describeWith(pythonClients, 'Python', () => {
  const read = async (...args: string[]) => JSON.parse(await python('test/streams/read_frames.py', args)) as unknown

  test('reads protobuf with the .proto text of the registry', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'callplane-proto-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const { proto = '', writer } = rulesOf(ROBOT, { encodings: ['protobuf'] })
    const file = join(folder, 'frame.proto')
    writeFileSync(file, proto)
    const { encode } = writer('protobuf')

    const got = await read('protobuf', file, 'WatchFrame', ...base64(encode(MOVING)))

    expect(got).toEqual([{ ...MOVING, step: String(MOVING.step), counts: { left: '1', right: '-2' } }])
  })

  test('reads CBOR', async () => {
    const { encode } = rulesOf(ROBOT, { encodings: ['cbor'] }).writer('cbor')

    expect(await read('cbor', ...base64(encode(MOVING)))).toEqual([MOVING])
  })

  test.each(['crc32', 'sha256'] as const)('checks the integrity header: %s', async (integrity) => {
    const { encode, seal } = rulesOf(ROBOT, { integrity }).writer('json')
    const frames = [1, 2].map((seq) => seal?.(seq, encode({ n: seq })) as Uint8Array)

    expect(await read('integrity', ...base64(...frames))).toEqual([
      { seq: 1, valid: true, payload: { n: 1 } },
      { seq: 2, valid: true, payload: { n: 2 } },
    ])
  })
})
