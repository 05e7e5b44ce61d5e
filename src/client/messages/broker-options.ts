/** What the transports of brokers have in common. */
import { createHttpTransport } from '../full-http.ts'
import type { HttpOptions } from '../options.ts'
import type { MessageSettings } from './message-transport.ts'

export interface BrokerOptions {
  /** Sent with every call: a broker does not tell the server who wrote a message. */
  token?: HttpOptions['token']
  /** The address of the server over HTTP, for files and for results that are larger than a message. */
  http?: Pick<HttpOptions, 'url' | 'token' | 'headers' | 'trustedOrigins' | 'fetch'>
}

/** Frames may arrive before the reply that announces them, and no response tells that the connection lives. */
export function brokerParts({ token, http }: BrokerOptions) {
  return {
    hasEarlyFrames: true,
    token,
    showsTokenAlways: true,
    expectsAnswers: false,
    http: http && createHttpTransport(http),
  } satisfies Partial<MessageSettings>
}
