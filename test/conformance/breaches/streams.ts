/** Breaches of streams, and of calls over a WebSocket. */
import { type Breach, breach, type Loose, onAnswer, onEntry, onEnvelope, onRegistry, onSent } from './breach.ts'

const UNSUBSCRIBE = 'v1:unsubscribeFromStream'

function onStream(title: string, cases: readonly string[], change: (stream: Loose) => void): Breach {
  return onEnvelope(title, cases, ({ stream }) => stream && change(stream))
}

/** Changes every envelope that the server sends on a WebSocket. */
function onPushed(title: string, cases: readonly string[], change: (envelope: Loose) => void): Breach {
  return breach(title, cases, () => ({
    message(text, path) {
      if (path !== '/call') return text
      const envelope = JSON.parse(text)
      change(envelope)
      return JSON.stringify(envelope)
    },
  }))
}

function onFrame(title: string, cases: readonly string[], change: (frame: string) => string): Breach {
  return breach(title, cases, () => ({ message: (text, path) => (path === '/call' ? text : change(text)) }))
}

export const streamBreaches: readonly Breach[] = [
  ...['transport', 'encoding', 'schema', 'location', 'sessionId'].map((field) =>
    onStream(`a stream has no ${field}`, ['stream-accepted'], (stream) => delete stream[field]),
  ),
  onStream('a stream is read over HTTP', ['stream-accepted'], (stream) => {
    stream.transport = 'http'
  }),
  onStream('the address of a stream is a path', ['stream-accepted'], (stream) => {
    stream.location = new URL(stream.location).pathname
  }),
  onStream('the end of a stream is in milliseconds', ['stream-accepted'], (stream) => {
    stream.expiresAt *= 1000
  }),
  onStream('the credential of a stream has another type', ['stream-accepted'], (stream) => {
    if (stream.auth) stream.auth.credentialType = 'ticket'
  }),
  onAnswer('a stream is 200', ['stream-accepted'], (served) => {
    if (served.body.includes('"streaming"')) served.status = 200
  }),
  onEnvelope('a stream is beside a location', ['stream-accepted'], (envelope) => {
    if (envelope.stream) envelope.location = { uri: envelope.stream.location }
  }),
  onEnvelope('a stream is pending', ['stream-accepted', 'stream-is-an-instance'], (envelope) => {
    if (!envelope.stream) return
    envelope.state = 'pending'
    envelope.location = { uri: envelope.stream.location }
    delete envelope.stream
  }),
  onStream('the wish for a transport is ignored', ['stream-negotiated'], (stream) => {
    stream.transport = 'mqtt'
  }),
  onStream('the wish for an encoding is ignored', ['stream-negotiated'], (stream) => {
    stream.encoding = 'binary'
  }),
  onStream('the key of a stream does not work', ['stream-frames'], (stream) => {
    if (stream.auth) stream.auth.credential = 'another'
  }),
  onFrame('frames are in envelopes', ['stream-frames'], (frame) => `{"state":"streaming","frame":${frame}}`),
  onFrame('frames are not JSON', ['stream-frames'], () => 'wave'),
  breach('a key works again', ['stream-key-once'], () => ({ welcome: '{"n":1,"wave":"●"}' })),
  onRegistry('streams cannot be ended', ['stream-unsubscribed'], (document) => {
    document.operations = document.operations.filter(({ op }: { op: string }) => op !== UNSUBSCRIBE)
  }),
  onSent('unsubscribing ends nothing', ['stream-unsubscribed'], (envelope) => {
    if (envelope.op === UNSUBSCRIBE) Object.assign(envelope, { op: 'v1:Calculator.Add', args: { a: 1, b: 2 } })
  }),
  ...['frameSchema', 'supportedTransports', 'supportedEncodings'].map((field) =>
    onEntry(`a stream has no ${field}`, ['stream-entries'], (entry) => delete entry[field]),
  ),
  onEntry('a stream has an unknown transport', ['stream-entries'], (entry) => {
    if (entry.supportedTransports) entry.supportedTransports = ['carrier-pigeon']
  }),
  onEntry('frameIntegrity is the name of an algorithm', ['stream-entries'], (entry) => {
    if (entry.frameSchema) entry.frameIntegrity = 'crc32'
  }),
  onEntry('everything has frames', ['stream-entries'], (entry) => {
    entry.frameSchema ??= {}
  }),
]

export const socketBreaches: readonly Breach[] = [
  onPushed('pushed envelopes belong to no call', ['socket-calls', 'socket-later-states'], (envelope) => {
    envelope.requestId = 'another'
  }),
  onPushed('pushed envelopes have no state', ['socket-calls', 'socket-malformed'], (envelope) => {
    delete envelope.state
  }),
  onPushed('results are pushed without a value', ['socket-calls'], (envelope) => {
    delete envelope.result
  }),
  onPushed('an async call ends in error', ['socket-later-states'], (envelope) => {
    if (envelope.state === 'complete') envelope.state = 'error'
  }),
  onPushed('a refusal has no code', ['socket-malformed'], ({ error }) => {
    if (error) delete error.code
  }),
  breach('what is pushed is not JSON', ['socket-calls', 'socket-malformed'], () => ({ message: () => 'complete' })),
]
