/** Reads a stream as server-sent events, as curl would. */
import { expect } from 'vitest'
import type { StreamBody } from '../../src/protocols/opencall/wire.ts'
import type { Answered } from '../scenarios/server.ts'

export interface FrameEvent {
  event: string
  id?: number
  data: unknown
}

export interface SseReader {
  status: number
  /** The next event. `undefined` after the last one. */
  next(): Promise<FrameEvent | undefined>
  /** All events up to the end of the response. */
  rest(): Promise<FrameEvent[]>
  leave(): void
}

/** The stream of the reply, with the address of its server-sent events. */
export function streamIn({ status, body }: Answered): StreamBody & { url: string; ticket: string } {
  expect([status, body.state], JSON.stringify(body)).toEqual([202, 'streaming'])
  const stream = body.stream as StreamBody
  const ticket = stream.auth?.credential ?? ''
  return { ...stream, ticket, url: stream.location.replace(/^ws/, 'http') }
}

export async function readEvents(url: string, headers: Record<string, string> = {}): Promise<SseReader> {
  const leaving = new AbortController()
  const response = await fetch(url, { headers: { Accept: 'text/event-stream', ...headers }, signal: leaving.signal })
  // Read from now on: Node cancels the body of a response without references, if its reading has not begun.
  const events = response.ok && response.body ? parse(response.body.pipeThrough(new TextDecoderStream())) : undefined
  return {
    status: response.status,
    next: async () => (await events?.next())?.value ?? undefined,
    async rest() {
      const all: FrameEvent[] = []
      for await (const event of events ?? []) all.push(event)
      return all
    },
    leave: () => leaving.abort(),
  }
}

/** Connects with the ticket of the reply. */
export function readWithTicket(answered: Answered, more = ''): Promise<SseReader> {
  const { url, ticket } = streamIn(answered)
  return readEvents(`${url}?ticket=${ticket}${more}`)
}

async function* parse(body: ReadableStream<string>): AsyncGenerator<FrameEvent, undefined> {
  let text = ''
  for await (const piece of body) {
    text += piece
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventIn(block)
      if (event) yield event
    }
  }
  return undefined
}

function eventIn(block: string): FrameEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => [line.split(':')[0], line.slice(line.indexOf(':') + 2)]))
  const name = fields.get('event')
  if (name === undefined) return undefined
  const id = fields.get('id')
  return { event: name, ...(id !== undefined && { id: Number(id) }), data: dataIn(fields.get('data') ?? '') }
}

function dataIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
