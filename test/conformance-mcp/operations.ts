/** The tools that the official suite expects, under the names it expects. */
import { type OperationDefinition, operation } from 'callplane'

/** One red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
/** An empty recording. */
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=='

const image = { type: 'image', mimeType: 'image/png', data: PNG }
const text = (said: string) => ({ type: 'text', text: said })

/** An operation that returns MCP content unchanged. */
function showing(name: string, description: string, content: object[]): OperationDefinition {
  return operation(name, { description, run: () => ({ content }) })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

const tools = [
  operation('v1:test.simple_text', {
    description: 'A text.',
    run: () => 'This is a simple text response for testing.',
  }),
  showing('v1:test.image_content', 'A picture.', [image]),
  showing('v1:test.audio_content', 'A sound.', [{ type: 'audio', mimeType: 'audio/wav', data: WAV }]),
  showing('v1:test.embedded_resource', 'A resource.', [
    {
      type: 'resource',
      resource: {
        uri: 'test://embedded-resource',
        mimeType: 'text/plain',
        text: 'This is an embedded resource content.',
      },
    },
  ]),
  showing('v1:test.multiple_content_types', 'Several kinds of content.', [
    text('Multiple content types test:'),
    image,
    {
      type: 'resource',
      resource: {
        uri: 'test://mixed-content-resource',
        mimeType: 'application/json',
        text: '{"test":"data","value":123}',
      },
    },
  ]),
  operation('v1:test.error_handling', {
    description: 'Fails.',
    run: (_, ctx) => ctx.fail('INTENDED', 'This tool intentionally returns an error for testing'),
  }),
  operation('v1:test.tool_with_progress', {
    description: 'Says how far it is.',
    model: 'async',
    async run(_, ctx) {
      ctx.progress(0)
      await pause(50, ctx.signal)
      ctx.progress(0.5)
      await pause(50, ctx.signal)
      ctx.progress(1)
      await pause(50, ctx.signal)
      return 'Done.'
    },
  }),
  operation('v1:test.logging_tool', { description: 'Says something.', run: (_, ctx) => ctx.say('info', 'here') }),
  operation('v1:test.tool_with_logging', {
    description: 'Says how it goes.',
    async run(_, ctx) {
      ctx.say('info', 'Tool execution started')
      await pause(50, ctx.signal)
      ctx.say('info', 'Tool processing data')
      await pause(50, ctx.signal)
      ctx.say('info', 'Tool execution completed')
      return 'Done.'
    },
  }),
  operation('v1:test.header_tool', {
    description: 'Takes an argument that a header repeats.',
    args: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
    run: (args) => args,
  }),
  operation('v1:json.schema_2020_12_tool', {
    description: 'Has a schema that uses what JSON Schema 2020-12 has.',
    args: {
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    run: (args) => args,
  }),
]

const tasks = [
  operation('v1:plain.greet', {
    description: 'Greets.',
    args: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    run: ({ name }) => `Hello, ${name}!`,
  }),
  operation('v1:slow.compute', {
    description: 'Takes its time.',
    model: 'async',
    args: {
      type: 'object',
      required: ['seconds'],
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
    },
    async run({ seconds }, ctx) {
      await pause(Number(seconds) * 1_000, ctx.signal)
      return `Computed for ${seconds} s.`
    },
  }),
  operation('v1:failing.job', {
    description: 'Says that it failed.',
    model: 'async',
    async run(_, ctx) {
      await pause(1_000, ctx.signal)
      return ctx.fail('INTENDED', 'The job failed, as it should.')
    },
  }),
  operation('v1:protocol.error_job', {
    description: 'Breaks.',
    model: 'async',
    run: () => {
      throw new Error('broken on purpose')
    },
  }),
]

export const operations: readonly OperationDefinition[] = [...tools, ...tasks]
