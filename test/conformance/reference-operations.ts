/** The operations of the reference server, a weather service: their registry entries and their code. */

export type Json = Record<string, unknown>

export class DomainFailure extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The part of a call that a handler sees. */
export interface Ran {
  args: Json
  /** Attachments by name. */
  files: ReadonlyMap<string, { type: string; bytes: Uint8Array }>
}

export interface ReferenceOperation {
  entry: Json & { op: string }
  /** Returns the result, a file, or a text that the client fetches in chunks. */
  run(ran: Ran): unknown
}

export class FileResult {
  readonly type: string
  readonly bytes: Buffer

  constructor(type: string, bytes: Buffer) {
    this.type = type
    this.bytes = bytes
  }
}

export class ChunkedResult {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const STATIONS: Readonly<Record<string, string>> = { zrh: 'Zürich', tyo: '東京', sao: 'São Paulo' }
const text = { type: 'string' }

function object(properties: Json, required = Object.keys(properties)): Json {
  return { type: 'object', properties, required }
}

function entry(op: string, args: Json, result: Json, more: Json = {}): Json & { op: string } {
  return {
    op,
    argsSchema: args,
    resultSchema: result,
    sideEffecting: false,
    idempotencyRequired: false,
    executionModel: 'sync',
    maxSyncMs: 1_000,
    ttlSeconds: 0,
    authScopes: ['weather:read'],
    cachingPolicy: 'none',
    ...more,
  }
}

const ASYNC = { executionModel: 'async', ttlSeconds: 3_600 }
const EFFECT = { sideEffecting: true, idempotencyRequired: true, authScopes: ['weather:write'] }

let alerts = 0

export const referenceOperations: readonly ReferenceOperation[] = [
  {
    entry: entry(
      'v1:weather.forecast',
      object({ city: { ...text, minLength: 2 }, days: { type: 'integer', minimum: 1, maximum: 7 } }),
      object({ city: text, sunny: { type: 'array', items: { type: 'boolean' } } }),
    ),
    run: ({ args }) => ({
      city: args.city,
      sunny: Array.from({ length: Number(args.days) }, (_, day) => day % 2 === 0),
    }),
  },
  {
    entry: entry('v1:weather.stations', object({}), object({ ids: { type: 'array', items: text } })),
    run: () => ({ ids: Object.keys(STATIONS) }),
  },
  {
    entry: entry('v1:weather.station', object({ id: text }), object({ name: text })),
    run({ args }) {
      const name = STATIONS[String(args.id)]
      if (name === undefined) throw new DomainFailure('STATION_NOT_FOUND', `There is no station "${args.id}".`)
      return { name }
    },
  },
  {
    entry: entry('v1:weather.now', object({ city: text }), object({ sunny: { type: 'boolean' } }), {
      deprecated: true,
      sunset: '2099-12-31',
      replacement: 'v1:weather.forecast',
    }),
    run: () => ({ sunny: true }),
  },
  {
    entry: entry('v2:weather.tides', object({ harbour: text }), object({ high: text })),
    run: () => ({ high: '06:12' }),
  },
  {
    entry: entry(
      'v1:archive.summarize',
      object({ year: { ...text, pattern: '^\\d{4}$' } }),
      object({ year: text, days: { type: 'integer' } }),
      ASYNC,
    ),
    run: ({ args }) => ({ year: args.year, days: 365 }),
  },
  {
    entry: entry('v1:archive.export', object({ station: text }, []), text, { ...ASYNC, chunked: true }),
    run: () =>
      new ChunkedResult(
        Array.from({ length: 300 }, (_, day) => `${day},${Object.values(STATIONS)[day % 3]},☀️ ${day % 30} °C 🌤\n`).join(
          '',
        ),
      ),
  },
  {
    entry: entry(
      'v1:maps.render',
      object({ zoom: { type: 'integer', minimum: 1, default: 3 } }, []),
      {},
      { ttlSeconds: 600 },
    ),
    run: ({ args }) => new FileResult('image/svg+xml', Buffer.from(`<svg><!-- Zürich at ${args.zoom ?? 3} --></svg>`)),
  },
  {
    entry: entry('v1:photos.inspect', object({}), object({ bytes: { type: 'integer' } }), {
      mediaSchema: [{ name: 'photo', required: true, acceptedTypes: ['image/png', 'image/jpeg'], maxBytes: 65_536 }],
    }),
    run: ({ files }) => ({ bytes: files.get('photo')?.bytes.length }),
  },
  {
    entry: entry(
      'v1:alerts.subscribe',
      object({ city: text }),
      object({ subscription: { type: 'integer' }, city: text }),
      EFFECT,
    ),
    run: ({ args }) => ({ subscription: ++alerts, city: args.city }),
  },
  {
    entry: entry('v1:alerts.acknowledge', object({ alert: text }), object({ acknowledged: text }), EFFECT),
    run: ({ args }) => ({ acknowledged: args.alert }),
  },
]

/** Operations past their sunset, so they are not listed. */
export const REMOVED: Readonly<Record<string, string>> = { 'v1:weather.tides': 'v2:weather.tides' }

/** Checks the few JSON Schema keywords that the registry uses. Returns the problem, or `undefined`. */
export function complaintAbout(schema: Json, args: unknown): string | undefined {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return 'args must be an object'
  const { properties, required } = schema as { properties: Record<string, Json>; required: string[] }
  for (const name of required) if (!(name in args)) return `args.${name} is missing`
  for (const [name, value] of Object.entries(args)) {
    const { type, pattern, minLength, minimum, maximum } = properties[name] ?? {}
    const isOfType = type === 'integer' ? Number.isInteger(value) : type === undefined || typeof value === type
    if (!isOfType) return `args.${name} must be of the type ${type}`
    if (pattern !== undefined && !new RegExp(String(pattern)).test(String(value)))
      return `args.${name} is not ${pattern}`
    if (minLength !== undefined && String(value).length < Number(minLength)) return `args.${name} is too short`
    if (Number(value) < Number(minimum) || Number(value) > Number(maximum)) return `args.${name} is out of range`
  }
  return undefined
}
