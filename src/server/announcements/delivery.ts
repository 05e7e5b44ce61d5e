/** Sends one announcement, signed as Tool Contract v1 specifies for callbacks (docs/readings.md#a19). */
import { createHmac } from 'node:crypto'
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import type { Clock, Environment } from '../../core/ports/runtime.ts'
import type { SecretSource } from '../../core/ports/secrets.ts'

interface DeliveryParts {
  env: Pick<Environment, 'conceal'>
  machineClock: Pick<Clock, 'now'>
  remote: RemoteClient
  secrets: SecretSource
}

interface Receiver {
  url: string
  secretRef: string
  allowPrivate?: boolean
}

/** Limit for the receiver's response; only its status is used. */
const MAX_BYTES = 64 * 1024

export async function deliver(
  { env, machineClock, remote, secrets }: DeliveryParts,
  { url, secretRef, allowPrivate = false }: Receiver,
  announced: JsonObject,
  signal: AbortSignal,
): Promise<null> {
  const { value: secret } = await secrets.resolve(secretRef, signal)
  if (secret === undefined) {
    throw new Fault(
      'secret-missing',
      `The secret ${secretRef} has several fields. Set announce.secretRef to a secret with one value.`,
    )
  }
  const forget = env.conceal(secret)
  try {
    const body = JSON.stringify(announced)
    const timestamp = String(Math.floor(machineClock.now() / 1000))
    const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
    const { status } = await remote.send({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', 'x-timestamp': timestamp, 'x-signature': `sha256=${signature}` },
      body,
      maxBytes: MAX_BYTES,
      allowPrivate,
      signal,
    })
    if (status < 200 || status > 299) throw refused(status)
    return null
  } finally {
    forget()
  }
}

/** Retryable, except for statuses that say the request itself is wrong. */
function refused(status: number): Fault {
  const retryable = status >= 500 || status === 408 || status === 425 || status === 429
  return new Fault(
    'upstream',
    `The receiver of announcements responded with ${status}. Check announce.url and the receiver's log.`,
    {
      retryable,
      details: { status },
    },
  )
}
