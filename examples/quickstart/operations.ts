/** One small example of every kind of operation. `npm start` serves this folder. */
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { operation } from 'callplane'
import { z } from 'zod'

export const add = operation('v1:Calculator.Add', {
  description: 'Adds two numbers.',
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  run: ({ a, b }) => a + b,
})

const DOORBELLS = ['doorbell42', 'doorbell84']

export const ring = operation('v1:Doorbell.Ring', {
  version: '0.1.0',
  description: 'Rings a doorbell.',
  args: z.object({ doorbell_id: z.string() }),
  result: z.object({ rung: z.string() }),
  sideEffecting: true,
  // Ringing twice does no harm, so no idempotency key is required.
  idempotencyRequired: false,
  errors: {
    DOORBELL_NOT_FOUND: {
      description: 'There is no doorbell with this id.',
      remedy: 'Use one of the ids that the error names.',
      retryable: true,
    },
  },
  run({ doorbell_id }, ctx) {
    if (DOORBELLS.includes(doorbell_id)) return { rung: doorbell_id }
    return ctx.fail('DOORBELL_NOT_FOUND', 'Doorbell ID not found', {
      retryAfterMs: 500,
      promptContent: `ids: ${DOORBELLS.join(',')}`,
      developerMessage: `The doorbell with ID '${doorbell_id}' does not exist.`,
    })
  },
})

export const generateReport = operation('v1:Reports.Generate', {
  description: 'Works through a month, step by step. Async: poll it, wait for it or watch its progress.',
  args: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/), steps: z.int().min(1).max(100).default(5) }),
  result: z.object({ month: z.string(), rows: z.int() }),
  model: 'async',
  ttlSeconds: 3_600,
  retry: { attempts: 3, backoffMs: 200 },
  async run({ month, steps }, ctx) {
    for (let step = 1; step <= steps; step++) {
      await pause(200, undefined, { signal: ctx.signal })
      ctx.progress(step / steps, `step ${step} of ${steps}`)
    }
    return { month, rows: steps * 100 }
  },
})

export const exportOrders = operation('v1:Orders.Export', {
  description: 'Exports a CSV file of any length. Chunks can be fetched while the rest is still being written.',
  args: z.object({ rows: z.int().min(0).max(10_000_000).default(20_000) }),
  chunked: { mimeType: 'text/csv' },
  ttlSeconds: 3_600,
  async *run({ rows }) {
    yield 'order,item,price\n'
    for (let row = 1; row <= rows; row++) yield `${row},item-${row % 97},${(row % 1000) / 10}\n`
  },
})

export const describeFile = operation('v1:Files.Describe', {
  description: 'Returns the type, size and SHA-256 of a file.',
  media: [
    {
      name: 'file',
      required: true,
      acceptedTypes: ['image/*', 'text/plain', 'text/*', 'application/pdf'],
      maxBytes: 10_485_760,
    },
  ],
  result: z.object({ mimeType: z.string(), bytes: z.int(), sha256: z.string() }),
  async run(_args, ctx) {
    const { file } = ctx.media
    if (!file) return ctx.fail('NO_FILE', 'There is no file to describe.')
    const hash = createHash('sha256')
    let bytes = 0
    for await (const piece of file.stream()) {
      hash.update(piece)
      bytes += piece.length
    }
    return { mimeType: file.mimeType, bytes, sha256: hash.digest('hex') }
  },
})

export const drawPicture = operation('v1:Pictures.Draw', {
  description: 'Draws a circle. The result is a file with its own URL.',
  args: z.object({ radius: z.number().positive().max(1000).default(40) }),
  ttlSeconds: 600,
  run: ({ radius }, ctx) => {
    const size = radius * 2
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"><circle cx="${radius}" cy="${radius}" r="${radius}"/></svg>`
    return ctx.object(svg, { mimeType: 'image/svg+xml', filename: 'circle.svg' })
  },
})

export const watchWaves = operation('v1:Waves.Watch', {
  description: 'Draws a wave, line by line, until you unsubscribe. A stream: every frame is one line.',
  args: z.object({ perSecond: z.int().min(1).max(50).default(10), frames: z.int().min(1).optional() }),
  frame: z.object({ n: z.int(), wave: z.string() }),
  ttlSeconds: 3_600,
  // A reader that is too slow gets the newest line.
  stream: { overflow: 'latest' },
  async *run({ perSecond, frames = Number.POSITIVE_INFINITY }, { signal }) {
    for (let n = 1; n <= frames; n++) {
      yield { n, wave: `${' '.repeat(Math.round(20 + 20 * Math.sin(n / 5)))}●` }
      await pause(1000 / perSecond, undefined, { signal })
    }
  },
})

const notes = new Map<string, string>()

export const addNote = operation('v1:Notes.Add', {
  description: 'Adds a note. It has an effect, so it needs an idempotency key: a repeat does not add a second note.',
  args: z.object({ text: z.string().min(1) }),
  result: z.object({ id: z.string(), notes: z.int() }),
  sideEffecting: true,
  ttlSeconds: 3_600,
  run({ text }, ctx) {
    notes.set(ctx.key, text)
    return { id: ctx.key, notes: notes.size }
  },
})

export const sum = operation('v1:Calculator.Sum', {
  description: 'The old name of Calculator.Add.',
  args: z.object({ a: z.number(), b: z.number() }),
  result: z.number(),
  deprecated: { sunset: '2099-12-31', replacement: 'v1:Calculator.Add' },
  run: ({ a, b }) => a + b,
})

export const helloOne = operation('v1:Greeter.Hello', {
  description: 'Past its sunset: callers get an error that names v2.',
  args: z.object({ name: z.string() }),
  result: z.string(),
  deprecated: { sunset: '2025-12-31', replacement: 'v2:Greeter.Hello' },
  run: ({ name }) => `Hello ${name}`,
})

export const helloTwo = operation('v2:Greeter.Hello', {
  description: 'Greets a person in their language.',
  args: z.object({ name: z.string() }),
  result: z.object({ greeting: z.string() }),
  run: ({ name }, ctx) => ({ greeting: ctx.locale?.startsWith('de') ? `Hallo ${name}` : `Hello ${name}` }),
})

/** Three versions side by side. A caller that names a version gets exactly that one. */
export const shoutFirst = operation('v1:Text.Shout', {
  description: 'Says it louder.',
  args: z.object({ text: z.string().describe('What to say.') }),
  result: z.string(),
  run: ({ text }) => text.toUpperCase(),
})

export const shoutLouder = operation('v1:Text.Shout', {
  version: '1.2.0',
  description: 'Says it louder, with as many exclamation marks as you like.',
  args: z.object({ text: z.string().describe('What to say.'), marks: z.int().min(0).max(10).default(1) }),
  result: z.string(),
  run: ({ text, marks }) => text.toUpperCase() + '!'.repeat(marks),
})

export const shoutTwo = operation('v2:Text.Shout', {
  description: 'Says it louder, and says how loud that was.',
  args: z.object({ text: z.string().describe('What to say.') }),
  result: z.object({ text: z.string(), decibels: z.int() }),
  run: ({ text }) => ({ text: text.toUpperCase(), decibels: 60 + text.length }),
})
