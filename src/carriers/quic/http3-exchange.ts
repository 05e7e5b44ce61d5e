/** An HTTP/3 request as the exchange that protocols use. */
import { isUtf8 } from 'node:buffer'
import type { Exchange, Part, PartLimits } from '../../core/ports/exchange.ts'
import { withoutBasePath } from '../../wire/http/base-path.ts'
import { bodyAlreadyRead, bodyNotUtf8, bodyTooLarge, clientGone } from '../../wire/http/body-faults.ts'
import { readPacedParts, type UploadPace } from '../../wire/http/paced-parts.ts'
import { isHostHeader } from '../../wire/http/site-rules.ts'
import { refuseEncoded } from '../../wire/http/text-encoding.ts'
import { Inbox, type Unread } from './inbox.ts'
import type { FieldMap, Http3Stream } from './library.ts'

export interface ExchangeSettings extends UploadPace {
  readonly publicUrl: string | undefined
  readonly basePath: string | undefined
}

export class Http3Exchange implements Exchange {
  readonly method: string
  /** As the client sent it. */
  readonly target: string
  readonly path: string
  readonly query: string
  readonly stream: Http3Stream
  readonly inbox: Inbox
  readonly #fields: FieldMap
  readonly #settings: ExchangeSettings
  #isRead = false
  #signal: AbortSignal | undefined

  constructor(stream: Http3Stream, fields: FieldMap, unread: Unread, settings: ExchangeSettings) {
    this.inbox = new Inbox(stream, unread)
    this.stream = stream
    this.#fields = fields
    this.#settings = settings
    this.method = one(fields[':method'])
    const target = one(fields[':path'])
    this.target = target
    const mark = target.indexOf('?')
    const path = mark < 0 ? target : target.slice(0, mark)
    this.path = settings.basePath === undefined ? path : withoutBasePath(path, settings.basePath)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
  }

  header(name: string): string | undefined {
    const value = this.#fields[name] ?? (name === 'host' ? this.#fields[':authority'] : undefined)
    // RFC 9114, "Field Compression": cookies are often sent in several fields.
    return Array.isArray(value) ? value.join(name === 'cookie' ? '; ' : ', ') : value
  }

  *headers(): Iterable<readonly [string, string]> {
    const host = this.#fields[':authority']
    if (host !== undefined) yield ['host', one(host)]
    for (const [name, value] of Object.entries(this.#fields)) {
      if (name.startsWith(':')) continue
      if (Array.isArray(value)) for (const each of value) yield [name, each]
      else yield [name, value]
    }
  }

  /** The length of the path and of all headers. Lists of them would take ten times as long. */
  get headBytes(): number {
    let bytes = this.path.length + this.query.length
    for (const name in this.#fields) {
      const value = this.#fields[name] as string | string[]
      if (name.startsWith(':') && name !== ':authority') continue
      if (typeof value === 'string') bytes += name.length + value.length
      else for (const each of value) bytes += name.length + each.length
    }
    return bytes
  }

  /** True if the header was sent more than once. */
  isRepeated(name: string): boolean {
    const value = this.#fields[name]
    if (name === 'host' && value !== undefined && this.#fields[':authority'] !== undefined) return true
    return Array.isArray(value)
  }

  get origin(): string {
    const { publicUrl, basePath = '' } = this.#settings
    if (publicUrl !== undefined) return publicUrl
    const host = this.header('host') ?? ''
    return `https://${isHostHeader(host) ? host : 'localhost'}${basePath}`
  }

  get signal(): AbortSignal {
    this.#signal ??= leavingSignal(this.stream)
    return this.#signal
  }

  text(maxBytes: number): string | Promise<string> {
    this.#open()
    refuseEncoded(this.header('content-type'), this.header('content-encoding'))
    if (Number(this.header('content-length')) > maxBytes) throw bodyTooLarge(maxBytes)
    return this.inbox.hasEnded ? decode(this.inbox.takeAll(), maxBytes) : this.#collect(maxBytes)
  }

  async *parts(limits: PartLimits): AsyncIterable<Part> {
    this.#open()
    const type = this.header('content-type') ?? ''
    yield* readPacedParts(type, (waitMs) => this.inbox.next(waitMs), limits, this.#settings)
  }

  async #collect(maxBytes: number): Promise<string> {
    // A small body arrives in the same turn as the head. The library announces it after the head.
    await undefined
    if (this.inbox.hasEnded) return decode(this.inbox.takeAll(), maxBytes)
    const deadline = performance.now() + this.#settings.bodyTimeoutMs
    const chunks: Buffer[] = []
    let total = 0
    for (;;) {
      const chunk = await this.inbox.next(deadline - performance.now())
      if (!chunk) return decode(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), maxBytes)
      total += chunk.length
      if (total > maxBytes) throw bodyTooLarge(maxBytes)
      chunks.push(chunk)
    }
  }

  #open(): void {
    if (this.#isRead) throw bodyAlreadyRead()
    this.#isRead = true
  }
}

function one(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? ''
}

function decode(bytes: Buffer, maxBytes: number): string {
  if (bytes.length > maxBytes) throw bodyTooLarge(maxBytes)
  const text = bytes.toString('utf8')
  // This character appears only if the bytes were invalid or if the text itself contains it.
  if (!text.includes('\ufffd') || isUtf8(bytes)) return text
  throw bodyNotUtf8()
}

function leavingSignal(stream: Http3Stream): AbortSignal {
  const controller = new AbortController()
  const check = () => {
    if (!stream.writableFinished) controller.abort(clientGone())
  }
  if (stream.closed) check()
  else stream.once('close', check)
  return controller.signal
}
