/** The requests about one call of a webhook tool: handing it over, asking for it, calling it off. */
import type { BackendContext } from '../../core/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { RemoteAnswer, RemoteRequest } from '../../core/ports/outbound.ts'
import { CONTRACT_VERSION, VERSION_HEADER } from '../../protocols/contract/wire.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import type { WebhookSettings } from './settings.ts'

/** Of a question, so that a tool that never answers one is asked again. */
const POLL_LIMIT_MS = 30_000
/** Of calling off, which nobody should have to wait for. */
const CANCEL_LIMIT_MS = 2_000

export class RemoteJob {
  readonly #settings: WebhookSettings
  readonly #parts: BackendParts
  readonly #context: BackendContext
  #credential: Readonly<Record<string, string>> | undefined

  constructor(settings: WebhookSettings, parts: BackendParts, context: BackendContext) {
    this.#settings = settings
    this.#parts = parts
    this.#context = context
  }

  submit(body: string): Promise<RemoteAnswer> {
    const { endpoint } = this.#settings
    return this.#send({ method: 'POST', url: endpoint, body, signal: this.#context.signal })
  }

  poll(): Promise<RemoteAnswer> {
    return this.#within(POLL_LIMIT_MS, [this.#context.signal], (signal) =>
      this.#send({ method: 'GET', url: this.#url, signal }),
    )
  }

  /** As well as it can: whether the tool listens changes nothing for the caller. */
  async cancel(): Promise<void> {
    try {
      await this.#within(CANCEL_LIMIT_MS, [], async (signal) => {
        // The one that was shown before: a call that is stopped gets no new one.
        const credential = this.#credential ?? (await this.#context.credential())?.headers
        return this.#parts.remote.send(this.#request({ method: 'DELETE', url: this.#url, signal }, credential))
      })
    } catch (thrown) {
      this.#context.log.debug({ err: thrown }, 'the tool could not be told that its call is over')
    }
  }

  /** docs/readings.md#a18: one path segment, whatever the id holds. */
  get #url(): string {
    const url = new URL(this.#settings.endpoint)
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${encodeURIComponent(this.#context.key)}`
    return url.href
  }

  #send(request: Sent): Promise<RemoteAnswer> {
    return sendWithCredential(
      this.#context,
      (credential) => {
        this.#credential = credential
        return this.#parts.remote.send(this.#request(request, credential))
      },
      ({ status }) => status === 401,
    )
  }

  #request(request: Sent, credential: Readonly<Record<string, string>> | undefined): RemoteRequest {
    const { headers, maxBytes, allowPrivate } = this.#settings
    const own = { accept: 'application/json', ...headers, [VERSION_HEADER]: CONTRACT_VERSION }
    const type = request.body !== undefined && { 'content-type': 'application/json' }
    return { ...request, headers: { ...own, ...type, ...credential }, maxBytes, allowPrivate }
  }

  async #within<T>(limitMs: number, signals: AbortSignal[], run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limit = new AbortController()
    const stop = this.#parts.clock.schedule(limitMs, () => limit.abort(noAnswer(limitMs)))
    try {
      return await run(AbortSignal.any([limit.signal, ...signals]))
    } finally {
      stop()
    }
  }
}

type Sent = Pick<RemoteRequest, 'method' | 'url' | 'body' | 'signal'>

function noAnswer(limitMs: number): Fault {
  return new Fault('upstream', `The tool did not answer within ${limitMs} ms. Check that it is running.`)
}
