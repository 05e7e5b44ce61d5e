/** The operations of S3 that this store uses, each as one function. It knows no owners, chunks or facts. */
import { createHash, hash } from 'node:crypto'
import type { S3Client, S3Stream } from './http/client.ts'
import { problemFault } from './http/problems.ts'
import { childrenOf, escapeXml, parseXml, textOf } from './http/xml.ts'
import type { S3Target } from './target.ts'

export type Headers = Readonly<Record<string, string>>

export interface Found {
  headers: NodeJS.Dict<string | string[]>
  bytes: number
  etag: string
}

export interface Page {
  keys: readonly { key: string; modifiedMs: number }[]
  /** With a delimiter: the common starts of the keys that are left out. */
  prefixes: readonly string[]
  /** Continues after this page. Absent on the last one. */
  next?: string
  /** S3's clock. */
  nowMs: number
}

export interface ListWish {
  prefix: string
  delimiter?: string
  startAfter?: string
  next?: string
}

export interface SentPart {
  number: number
  etag: string
  checksum: string
}

/** `condition-failed`: the condition in the headers does not hold. */
export type Written = 'written' | 'condition-failed'

/** S3 removes at most this many keys with one request. */
export const MAX_REMOVED = 1_000

export class Bucket {
  readonly #client: S3Client
  readonly #target: S3Target

  constructor(client: S3Client, target: S3Target) {
    this.#client = client
    this.#target = target
  }

  async head(key: string): Promise<Found | undefined> {
    const { status, headers } = await this.#client.send({ method: 'HEAD', key, accept: [404] })
    return status === 404 ? undefined : found(headers)
  }

  /** Reads the whole object. */
  async get(key: string): Promise<(Found & { body: Buffer }) | undefined> {
    const request = { method: 'GET', key, accept: [404], maxBytes: Number.MAX_SAFE_INTEGER } as const
    const { status, headers, body } = await this.#client.send(request)
    return status === 404 ? undefined : { ...found(headers), body }
  }

  /** 404, 412 and 416 are results. */
  open(key: string, headers: Headers): Promise<S3Stream> {
    return this.#client.open({ method: 'GET', key, headers, accept: [404, 412, 416] })
  }

  async put(key: string, body: Uint8Array, bodyHash: string, headers: Headers): Promise<Written> {
    // 404: the object of an `If-Match` is gone. Otherwise there is no such bucket.
    const accept = headers['if-match'] === undefined ? [412] : [412, 404]
    const checked = { ...headers, ...checksum(bodyHash) }
    const { status } = await this.#client.send({ method: 'PUT', key, headers: checked, body, bodyHash, accept })
    return status < 300 ? 'written' : 'condition-failed'
  }

  /** Removes up to 1,000 keys. A key that does not exist counts as removed. */
  async remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const objects = keys.map((key) => `<Object><Key>${escapeXml(key)}</Key></Object>`).join('')
    const body = Buffer.from(`<Delete><Quiet>true</Quiet>${objects}</Delete>`)
    // All S3 servers accept this checksum here, and some accept no other.
    const md5 = createHash('md5').update(body).digest('base64')
    const headers = { 'content-md5': md5, 'content-type': 'application/xml' }
    const response = await this.#client.send({ method: 'POST', query: { delete: '' }, headers, body })
    const [failed] = childrenOf(parseXml(response.body.toString('utf8'), 'DeleteResult'), 'Error')
    if (!failed) return
    const [code, message] = [textOf(failed, 'Code'), textOf(failed, 'Message')]
    if (code !== 'NoSuchKey') throw problemFault({ status: 400, code, message, requestId: '' }, this.#target)
  }

  async list({ prefix, delimiter, startAfter, next }: ListWish): Promise<Page> {
    const query = {
      'list-type': '2',
      prefix,
      ...(delimiter !== undefined && { delimiter }),
      ...(startAfter !== undefined && { 'start-after': startAfter }),
      ...(next !== undefined && { 'continuation-token': next }),
    }
    const { headers, body } = await this.#client.send({ method: 'GET', query })
    const page = parseXml(body.toString('utf8'), 'ListBucketResult')
    const token = textOf(page, 'NextContinuationToken')
    return {
      keys: childrenOf(page, 'Contents').map((entry) => ({
        key: textOf(entry, 'Key'),
        modifiedMs: Date.parse(textOf(entry, 'LastModified')),
      })),
      prefixes: childrenOf(page, 'CommonPrefixes').map((entry) => textOf(entry, 'Prefix')),
      ...(textOf(page, 'IsTruncated') === 'true' && token !== '' && { next: token }),
      nowMs: Date.parse(headers.date ?? ''),
    }
  }

  async startUpload(key: string, headers: Headers): Promise<string> {
    const checked = { ...headers, 'x-amz-checksum-algorithm': 'SHA256' }
    const { body } = await this.#client.send({ method: 'POST', key, query: { uploads: '' }, headers: checked })
    return textOf(parseXml(body.toString('utf8'), 'InitiateMultipartUploadResult'), 'UploadId')
  }

  async uploadPart(key: string, upload: string, number: number, body: Uint8Array): Promise<SentPart> {
    const query = { partNumber: String(number), uploadId: upload }
    const bodyHash = hash('sha256', body)
    const headers = checksum(bodyHash)
    const response = await this.#client.send({ method: 'PUT', key, query, headers, body, bodyHash })
    return { number, etag: String(response.headers.etag ?? ''), checksum: headers[CHECKSUM] }
  }

  /** `condition-failed` also if there is no such upload any more, because a first try of this request ended it. */
  async completeUpload(key: string, upload: string, sent: readonly SentPart[]): Promise<Written> {
    const parts = sent.map(
      ({ number, etag, checksum }) =>
        `<Part><ChecksumSHA256>${checksum}</ChecksumSHA256><ETag>${escapeXml(etag)}</ETag><PartNumber>${number}</PartNumber></Part>`,
    )
    const { status } = await this.#client.send({
      method: 'POST',
      key,
      query: { uploadId: upload },
      headers: { 'if-none-match': '*', 'content-type': 'application/xml' },
      body: Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`),
      accept: [404, 412],
    })
    return status < 300 ? 'written' : 'condition-failed'
  }

  async abortUpload(key: string, upload: string): Promise<void> {
    await this.#client.send({ method: 'DELETE', key, query: { uploadId: upload }, accept: [404] })
  }

  presign(key: string, query: Headers, forSeconds: number): Promise<string> {
    return this.#client.presign(key, query, forSeconds)
  }
}

const CHECKSUM = 'x-amz-checksum-sha256'

/** Not every server compares the hash in the signature with the body. All compare this one, and keep it. */
function checksum(bodyHash: string): { [CHECKSUM]: string } {
  return { [CHECKSUM]: Buffer.from(bodyHash, 'hex').toString('base64') }
}

function found(headers: NodeJS.Dict<string | string[]>): Found {
  return { headers, bytes: Number(headers['content-length'] ?? 0), etag: String(headers.etag ?? '') }
}
