/** What can be wrong with a body before anybody knows what it means; the same words on every carrier. */
import { Fault } from '../../core/fault.ts'

export function bodyTooLarge(maxBytes: number): Fault {
  return new Fault('malformed', `The body is larger than the ${maxBytes} bytes allowed here; send less.`, {
    code: 'BODY_TOO_LARGE',
  })
}

export function bodyBrokeOff(): Fault {
  return new Fault('malformed', 'The body broke off before its end; send the request again.', {
    code: 'BODY_INCOMPLETE',
    retryable: true,
  })
}

export function bodyTooSlow(): Fault {
  return new Fault('malformed', 'The body did not arrive in time; send it again over a faster connection.', {
    code: 'BODY_TIMEOUT',
    retryable: true,
  })
}

export function bodyAlreadyRead(): Fault {
  return new Fault(
    'internal',
    'The body was read before it got here; mount this before any body parser, and read a body only once.',
    { code: 'BODY_ALREADY_READ' },
  )
}

export function bodyNotUtf8(): Fault {
  return new Fault('malformed', 'The body is not UTF-8; encode it as UTF-8 and send it again.', {
    code: 'INVALID_UTF8',
  })
}

export function clientGone(): Fault {
  return new Fault('canceled', 'The client went away before it was answered; nobody waits for this.')
}
