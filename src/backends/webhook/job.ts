/** The requests for one call of a webhook tool: submit, poll and cancel. */
import type { BackendContext } from '../../core/call/context.ts'
import { Fault } from '../../core/fault.ts'
import type { BackendParts } from '../../core/ports/backend.ts'
import type { RemoteAnswer, RemoteRequest } from '../../core/ports/outbound.ts'
import { CONTRACT_VERSION, VERSION_HEADER } from '../../protocols/contract/wire.ts'
import { sendWithCredential } from '../../wire/send-with-credential.ts'
import type { WebhookSettings } from './settings.ts'

/** Time limit of one poll. A tool that does not respond is polled again. */
const POLL_LIMIT_MS = 30_000
/** Time limit of a cancellation: short, because the call's end waits for it. */
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

  /** Best effort: the tool's response changes nothing for the caller. */
  async cancel(): Promise<void> {
    try {
      await this.#within(CANCEL_LIMIT_MS, [], async (signal) => {
        // Uses the credential of the earlier requests: a stopped call obtains no new one.
        const credential = this.#credential ?? (await this.#context.credential())?.headers
        return this.#parts.remote.send(this.#request({ method: 'DELETE', url: this.#url, signal }, credential))
      })
    } catch (thrown) {
      this.#context.log.debug({ err: thrown }, 'could not cancel the call at the tool')
    }
  }

  /** docs/readings.md#a18: the id is encoded as one path segment. */
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
