/** The header `Idempotency-Key`: the key of a call, besides `ctx.idempotencyKey`. docs/readings.md#r43. */

import { Fault } from '../../../core/fault.ts'
import { MAX_TEXT } from '../envelope.ts'

// Several headers of one name arrive as one, with commas between the values.
const BARE = /^[!#-+\--~]{1,256}$/
/** RFC 9651, "Strings". */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/

/** The key of the header. It must be the key of the envelope, if that has one. */
export function agreedKey(header: string, key: string | undefined): string {
  const text = header.trim()
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(.)/g, '$1')
  const sent = quoted ?? (BARE.test(text) ? text : '')
  if (sent === '' || sent.length > MAX_TEXT) {
    throw new Fault(
      'malformed',
      `The header Idempotency-Key must be one key of 1 to ${MAX_TEXT} visible ASCII characters. Put a key with a comma or a space in quotes.`,
      { code: 'IDEMPOTENCY_KEY_INVALID' },
    )
  }
  if (key === undefined || key === sent) return sent
  throw new Fault(
    'malformed',
    'The header Idempotency-Key and "ctx.idempotencyKey" differ. Send one of them, or the same key in both.',
    { code: 'IDEMPOTENCY_KEY_MISMATCH' },
  )
}
