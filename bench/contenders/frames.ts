/** The frame that every server of the frames suite sends: 100 bytes, as bytes and as JSON. */

export interface Reading {
  device: string
  n: number
  values: number[]
  note: string
}

const reading: Reading = { device: 'd-0001', n: 123456, values: [1.5, 2.25, 3.125], note: 'x' }

/** Its JSON has 100 bytes. */
export const FRAME: Reading = { ...reading, note: 'x'.repeat(101 - JSON.stringify(reading).length) }

export const FRAME_BYTES: Buffer = Buffer.from(JSON.stringify(FRAME))

export const FRAME_SCHEMA = {
  type: 'object',
  required: ['device', 'n', 'values', 'note'],
  additionalProperties: false,
  properties: {
    device: { type: 'string', maxLength: 64 },
    n: { type: 'integer' },
    values: { type: 'array', maxItems: 8, items: { type: 'number' } },
    note: { type: 'string', maxLength: 64 },
  },
}

/** As many frames as Callplane sends in a turn, several times a second. */
export const PACE = { frames: 64, everyMs: 20 }
