/**
 * AWS Signature Version 4 for requests to S3: in headers, and in the query of a presigned address. It is pure except for
 * the key of the day, which is remembered: deriving it takes four keyed hashes.
 */
import { createHmac, hash } from 'node:crypto'

export interface SigningKey {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

export interface Signable {
  method: string
  host: string
  /** Percent-encoded, as it is sent. */
  path: string
  query: Readonly<Record<string, string>>
  /** Names in lower case. All of them are signed. */
  headers: Readonly<Record<string, string>>
}

export interface Signer {
  /** The headers to send: the given ones, the date, the hash of the body (hex) and the signature. */
  sign(request: Signable, bodyHash: string, key: SigningKey, nowMs: number): Record<string, string>
  /** The query of an address that works without headers for this many seconds. */
  presign(
    request: Omit<Signable, 'headers'>,
    forSeconds: number,
    key: SigningKey,
    nowMs: number,
  ): Record<string, string>
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/** The hash of an empty body. */
export const EMPTY_HASH = hash('sha256', '')

export function createSigner(region: string, service = 's3'): Signer {
  let last: { day: string; secret: string; key: Buffer } = { day: '', secret: '', key: Buffer.alloc(0) }

  function keyOf(day: string, secret: string): Buffer {
    if (last.day !== day || last.secret !== secret) {
      const key = [day, region, service, 'aws4_request'].reduce(mac, Buffer.from(`AWS4${secret}`))
      last = { day, secret, key }
    }
    return last.key
  }

  function signatureOf(canonical: string, date: string, scope: string, secret: string): string {
    const toSign = `${ALGORITHM}\n${date}\n${scope}\n${hash('sha256', canonical)}`
    return createHmac('sha256', keyOf(date.slice(0, 8), secret))
      .update(toSign)
      .digest('hex')
  }

  const scopeOf = (date: string) => `${date.slice(0, 8)}/${region}/${service}/aws4_request`

  return {
    sign(request, bodyHash, key, nowMs) {
      const date = amzDate(nowMs)
      const scope = scopeOf(date)
      const headers: Record<string, string> = {
        ...request.headers,
        host: request.host,
        'x-amz-content-sha256': bodyHash,
        'x-amz-date': date,
        ...(key.sessionToken !== undefined && { 'x-amz-security-token': key.sessionToken }),
      }
      const { canonical, signed } = canonicalRequest({ ...request, headers }, bodyHash)
      const signature = signatureOf(canonical, date, scope, key.secretAccessKey)
      headers.authorization = `${ALGORITHM} Credential=${key.accessKeyId}/${scope},SignedHeaders=${signed},Signature=${signature}`
      return headers
    },
    presign(request, forSeconds, key, nowMs) {
      const date = amzDate(nowMs)
      const scope = scopeOf(date)
      const query: Record<string, string> = {
        ...request.query,
        'X-Amz-Algorithm': ALGORITHM,
        'X-Amz-Credential': `${key.accessKeyId}/${scope}`,
        'X-Amz-Date': date,
        'X-Amz-Expires': String(forSeconds),
        'X-Amz-SignedHeaders': 'host',
        ...(key.sessionToken !== undefined && { 'X-Amz-Security-Token': key.sessionToken }),
      }
      const { canonical } = canonicalRequest({ ...request, query, headers: { host: request.host } }, 'UNSIGNED-PAYLOAD')
      return { ...query, 'X-Amz-Signature': signatureOf(canonical, date, scope, key.secretAccessKey) }
    },
  }
}

function canonicalRequest({ method, path, query, headers }: Omit<Signable, 'host'>, bodyHash: string) {
  const names = Object.keys(headers).sort()
  const signed = names.join(';')
  const lines = names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/ {2,}/g, ' ')}\n`).join('')
  return { canonical: `${method}\n${path}\n${encodeQuery(query)}\n${lines}\n${signed}\n${bodyHash}`, signed }
}

/** Sorted and encoded as the signature needs it, so the same text is sent. */
export function encodeQuery(query: Readonly<Record<string, string>>): string {
  return Object.entries(query)
    .map(([name, value]) => `${encodePart(name)}=${encodePart(value)}`)
    .sort()
    .join('&')
}

/** Encodes every character but letters, digits and `-._~`, and slashes only if they are data. */
export function encodePath(key: string): string {
  return key.split('/').map(encodePart).join('/')
}

function encodePart(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** `20130524T000000Z` */
function amzDate(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
}

function mac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
