/** Checks the size of a message, decodes its text, and creates the faults for both. */
import { Fault } from '../../core/fault.ts'
import type { Message } from '../../core/ports/session.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true })

export function isLargerThan(message: Message, maxBytes: number): boolean {
  if (typeof message !== 'string') return message.length > maxBytes
  // A UTF-16 code unit takes one to three bytes in UTF-8, so most texts need no exact count.
  if (message.length > maxBytes) return true
  if (message.length * 3 <= maxBytes) return false
  return new TextEncoder().encode(message).length > maxBytes
}

/** Throws a fault if bytes are not UTF-8. */
export function readText(message: Message): string {
  if (typeof message === 'string') return message
  try {
    return UTF8.decode(message)
  } catch (cause) {
    throw new Fault('malformed', 'The message is not UTF-8; encode it as UTF-8 and send it again.', {
      code: 'INVALID_UTF8',
      cause,
    })
  }
}

export function messageTooSlow(): Fault {
  return new Fault('malformed', 'A message did not arrive in time; send it again over a faster connection.', {
    code: 'BODY_TIMEOUT',
    retryable: true,
  })
}

export function messageTooLarge(maxBytes: number): Fault {
  return new Fault('malformed', `The message is larger than the ${maxBytes} bytes allowed here; send a shorter one.`, {
    code: 'BODY_TOO_LARGE',
  })
}
