/** Faults of a request body, before its content is parsed. Every HTTP carrier uses the same texts. */
import { Fault } from '../../core/fault.ts'

export function bodyTooLarge(maxBytes: number): Fault {
  return new Fault('malformed', `The body is larger than the ${maxBytes} bytes allowed here; send less.`, {
    code: 'BODY_TOO_LARGE',
  })
}

export function bodyBrokeOff(): Fault {
  return new Fault('malformed', 'The body ended too early; send the request again.', {
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
    'The body was already read; mount this server before any body parser, and read a body only once.',
    { code: 'BODY_ALREADY_READ' },
  )
}

export function bodyNotUtf8(): Fault {
  return new Fault('malformed', 'The body is not UTF-8; encode it as UTF-8 and send it again.', {
    code: 'INVALID_UTF8',
  })
}

export function clientGone(): Fault {
  return new Fault('canceled', 'The client disconnected before the response.')
}
