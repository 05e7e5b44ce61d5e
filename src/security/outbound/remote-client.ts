/**
 * The client that speaks with remote tools. Unlike the fetcher it goes where an operator's declaration says, keeps its
 * connections and shows credentials.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import { Fault } from '../../core/fault.ts'
import type {
  RemoteAddress,
  RemoteAnswer,
  RemoteClient,
  RemoteRequest,
  RemoteStream,
} from '../../core/ports/outbound.ts'
import {
  declaredBytes,
  errorCode,
  GuardedHttp,
  type GuardOptions,
  isEncoded,
  type Outgoing,
  type Refusals,
  type Target,
} from './guarded-http.ts'

export interface ClosableRemoteClient extends RemoteClient {
  /** For those with connections of their own: where a host is, under the same rules. */
  lookup(hostname: string, allowPrivate: boolean): Promise<readonly RemoteAddress[]>
  /** Closes what is kept; requests under way are cut off. */
  close(): void
}

export function createRemoteClient(options: GuardOptions = {}): ClosableRemoteClient {
  const guard = new GuardedHttp(toolRefusals, options)
  const targets = new Map<string, Target>()

  /** Reading and judging an address costs about 4 µs, and most requests go where others went before. */
  function targetAt(text: string, allowPrivate = false): Target {
    // Judged under one rule is not judged under the other.
    const key = `${allowPrivate} ${text}`
    const known = targets.get(key)
    if (known) return known
    const target = guard.target(text, allowPrivate)
    if (targets.size >= MAX_TARGETS) targets.clear()
    targets.set(key, target)
    return target
  }

  return {
    lookup: (hostname, allowPrivate) => guard.lookup(hostname, allowPrivate),
    async send(sent) {
      const target = targetAt(sent.url, sent.allowPrivate)
      if (sent.signal.aborted) throw calledOff(sent.signal)
      const first = new Sending(guard, target, sent, 'kept')
      try {
        return await first.answer
      } catch (error) {
        if (!first.foundClosed || sent.method === 'POST') throw first.explain(error)
      }
      // The kept connection had been closed. What may be repeated without harm is repeated, on a connection of its own.
      const second = new Sending(guard, target, sent, 'own')
      try {
        return await second.answer
      } catch (error) {
        throw second.explain(error)
      }
    },
    open({ method, url, headers, body, allowPrivate, signal }) {
      const target = targetAt(url, allowPrivate)
      return new Promise((resolve, reject) => {
        guard
          .start(target, { method, headers, body, connection: 'stream', signal })
          .once('error', reject)
          .once('response', (response) => {
            if (!isEncoded(response)) return resolve(streamOf(response))
            response.destroy()
            reject(encoded(target.url))
          })
      })
    },
    close: () => guard.close(),
  }
}

function streamOf(response: IncomingMessage): RemoteStream {
  const { statusCode: status = 502, headers } = response
  return { status, headers, body: response, discard: () => void response.destroy() }
}

/** Addresses that are made for one call, as when a job is asked after, come and go. */
const MAX_TARGETS = 1_000

const decoder = new TextDecoder()

/** One request on one connection, up to the last byte of its answer. */
class Sending {
  readonly #url: URL
  readonly #sent: RemoteRequest
  readonly #request: ClientRequest
  readonly #done = Promise.withResolvers<RemoteAnswer>()
  readonly #abort = () => this.#fail(calledOff(this.#sent.signal))
  #answering = false

  constructor(guard: GuardedHttp, target: Target, sent: RemoteRequest, connection: Outgoing['connection']) {
    this.#url = target.url
    this.#sent = sent
    const { method, headers, body } = sent
    this.#request = guard.start(target, { method, headers, body, connection })
    this.#request.on('response', (response) => this.#receive(response)).on('error', (error) => this.#fail(error))
    sent.signal.addEventListener('abort', this.#abort)
  }

  get answer(): Promise<RemoteAnswer> {
    return this.#done.promise
  }

  /** The connection was a kept one, and it ended without a byte of an answer. */
  get foundClosed(): boolean {
    return this.#request.reusedSocket && !this.#answering && !this.#sent.signal.aborted
  }

  #receive(response: IncomingMessage): void {
    this.#answering = true
    const { maxBytes } = this.#sent
    const { headers } = response
    const objection = objectionTo(response, this.#url, maxBytes)
    if (objection) {
      this.#fail(objection)
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    response
      .on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > maxBytes) this.#fail(tooLarge(maxBytes))
        else chunks.push(chunk)
      })
      .on('error', (error) => this.#fail(error))
      .on('end', () => {
        this.#sent.signal.removeEventListener('abort', this.#abort)
        const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
        this.#done.resolve({
          status: response.statusCode ?? 0,
          header: (name) => textOf(headers[name.toLowerCase()]),
          text: decoder.decode(whole),
        })
      })
  }

  /** The connection goes with it: what else would come on it belongs to nobody. */
  #fail(error: unknown): void {
    this.#sent.signal.removeEventListener('abort', this.#abort)
    this.#done.reject(error)
    this.#request.destroy()
  }

  /** Only the host is named: the rest of an address may be a secret. */
  explain(error: unknown): Fault {
    if (error instanceof Fault) return error
    const { host } = this.#url
    const code = errorCode(error)
    return new Fault('upstream', `${host} did not answer (${code}). Check that the tool is running and reachable.`, {
      details: { host, cause: code },
      cause: error,
    })
  }
}

function objectionTo(response: IncomingMessage, url: URL, maxBytes: number): Fault | undefined {
  if (declaredBytes(response) > maxBytes) return tooLarge(maxBytes)
  return isEncoded(response) ? encoded(url) : undefined
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value
}

const toolRefusals: Refusals = {
  notAbsolute: () => refused('The address of the tool is not an absolute URL; write it as https://host/path.'),
  scheme: (protocol) => refused(`A tool cannot be called with ${protocol} here; use https.`),
  userInfo: () => refused('The address of the tool carries a user name or password; declare "auth" instead.'),
  address: (host) =>
    refused(
      `${host} is at an address that tools may not have: a private one needs "allowPrivate: true" in its declaration, ` +
        'and link-local and metadata addresses are never called.',
    ),
}

function refused(message: string): Fault {
  return new Fault('upstream', message, { code: 'TARGET_REFUSED', retryable: false })
}

function calledOff({ reason }: AbortSignal): Fault {
  return reason instanceof Fault ? reason : new Fault('canceled', 'The request was called off.', { cause: reason })
}

function tooLarge(maxBytes: number): Fault {
  return new Fault(
    'upstream',
    `The tool answered with more than the ${maxBytes} bytes allowed. Have it answer with less, or raise "maxBytes".`,
    { code: 'ANSWER_TOO_LARGE', retryable: false, details: { limit_bytes: maxBytes } },
  )
}

function encoded({ host }: URL): Fault {
  return new Fault('upstream', `${host} compresses its answer though it was asked not to. Have it answer plainly.`, {
    code: 'ANSWER_ENCODED',
    retryable: false,
  })
}
