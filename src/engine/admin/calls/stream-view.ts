/** A stream as an operator sees it: without its frames, its address and its ticket. */
import type { Instance } from '../../../core/call/instance.ts'
import type { JsonObject } from '../../../core/json.ts'
import type { StreamSummary } from '../../../core/operation/stream.ts'
import { COUNT, timeText } from '../shapes.ts'

export interface StreamView extends Partial<StreamSummary> {
  transport: string
  encoding: string
  /** When it ends, at the latest. The call is kept for longer. */
  endsAt: string
  /** No reader has connected yet. */
  awaited?: true
}

/** The counts are known once the stream has ended: until then only the process that runs it has them. */
export function streamOf({ extras, outcome }: Pick<Instance, 'extras' | 'outcome'>): StreamView | undefined {
  const stream = extras?.stream
  if (!stream) return undefined
  const { transport, encoding, endsAt, awaited } = stream
  const { frames, dropped, ended } = (outcome?.kind === 'result' ? outcome.value : {}) as unknown as StreamSummary
  return {
    transport,
    encoding,
    endsAt: timeText(endsAt),
    ...(awaited && { awaited }),
    ...(frames !== undefined && { frames, dropped, ended }),
  }
}

const text = { type: 'string' }

export const STREAM_SCHEMA: JsonObject = {
  type: 'object',
  required: ['transport', 'encoding', 'endsAt'],
  properties: {
    transport: text,
    encoding: text,
    endsAt: { type: 'string', format: 'date-time' },
    awaited: { type: 'boolean' },
    frames: COUNT,
    dropped: COUNT,
    ended: text,
  },
}
