/**
 * Signs responses with HTTP Message Signatures (RFC 9421), for clients that must prove later, or behind a proxy, what
 * the server sent. The signature is part of the HTTP binding: the envelope has no field for it. TLS still protects the
 * connection.
 */
import { createPrivateKey, hash, type KeyObject, sign } from 'node:crypto'
import { Fault } from '../core/fault.ts'
import type { Answer, Exchange, Refuse, Route } from '../core/ports/exchange.ts'
import type { Clock } from '../core/ports/runtime.ts'

export interface SigningOptions {
  /** The id by which verifiers find the public key. */
  keyId: string
  /** Ed25519, in PEM. */
  privateKey: string
}

export type SignAnswer = (request: Pick<Exchange, 'method' | 'path'>, answer: Answer) => Answer

export function createSigner({ keyId, privateKey }: SigningOptions, clock: Pick<Clock, 'now'>): SignAnswer {
  const key = readKey(privateKey)
  if (!/^[\x20-\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(keyId)) {
    throw new Fault('malformed', 'signing.keyId must be printable ASCII without quotes and backslashes.')
  }
  return (request, answer) => {
    const covered = coveredFields(request, answer)
    const names = covered.map(([name]) => name).join(' ')
    const params = `(${names});created=${Math.floor(clock.now() / 1000)};keyid="${keyId}";alg="ed25519"`
    const base = [...covered.map(([name, value]) => `${name}: ${value}`), `"@signature-params": ${params}`].join('\n')
    const signature = sign(null, Buffer.from(base), key).toString('base64')
    const digest = covered.find(([name]) => name === '"content-digest"')?.[1]
    return {
      ...answer,
      headers: {
        ...answer.headers,
        ...(digest !== undefined && { 'Content-Digest': digest }),
        'Signature-Input': `callplane=${params}`,
        Signature: `callplane=:${signature}:`,
      },
    }
  }
}

/** Signs every response of these routes, including error responses. */
export function signRoutes(routes: readonly Route[], signAnswer: SignAnswer): Route[] {
  return routes.map(({ path, methods, refuse }) => ({
    path,
    refuse: signRefusals(refuse, signAnswer),
    methods: Object.fromEntries(
      Object.entries(methods).map(([method, handle]) => [
        method,
        async (exchange: Exchange, params: Readonly<Record<string, string>>) =>
          signAnswer(exchange, await handle(exchange, params)),
      ]),
    ),
  }))
}

export function signRefusals(refuse: Refuse, signAnswer: SignAnswer): Refuse {
  return (exchange, why) => signAnswer(exchange, refuse(exchange, why))
}

/**
 * Covers the request's method and path too, so that a response cannot be presented as the response to another request.
 */
function coveredFields(
  request: Pick<Exchange, 'method' | 'path'>,
  { status, headers, body }: Answer,
): [name: string, value: string][] {
  const type = headers['Content-Type']
  const whole = typeof body === 'string' || body instanceof Uint8Array
  return [
    ['"@status"', String(status)],
    ['"@method";req', request.method],
    ['"@path";req', request.path],
    ...(type === undefined ? [] : [['"content-type"', type] as [string, string]]),
    // A streamed body is not known when its head is sent.
    ...(whole ? [['"content-digest"', `sha-256=:${hash('sha256', body, 'base64')}:`] as [string, string]] : []),
  ]
}

function readKey(pem: string): KeyObject {
  let key: KeyObject | undefined
  try {
    key = createPrivateKey(pem)
  } catch (cause) {
    throw new Fault('malformed', 'signing.privateKey is not a private key in PEM.', { cause })
  }
  if (key.asymmetricKeyType === 'ed25519') return key
  throw new Fault(
    'malformed',
    'signing.privateKey must be an Ed25519 key; create one with openssl genpkey -algorithm ed25519.',
  )
}
