/** The certificate of the server, checked before anything is opened. */
import { createSecureContext } from 'node:tls'
import { Fault } from '../../core/fault.ts'

export interface TlsOptions {
  /** The certificate and the chain above it, as PEM. */
  cert: string | Uint8Array
  /** Its private key, as PEM, without a passphrase. */
  key: string | Uint8Array
}

export function checkTls({ cert, key }: TlsOptions): void {
  try {
    createSecureContext({ cert: Buffer.from(cert) })
  } catch (cause) {
    throw refused('tls.cert must be a certificate as PEM, with the chain above it.', cause)
  }
  try {
    createSecureContext({ cert: Buffer.from(cert), key: Buffer.from(key) })
  } catch (cause) {
    const message = 'tls.key must be the private key of tls.cert as PEM, without a passphrase.'
    throw refused(message, cause)
  }
}

function refused(message: string, cause: unknown): Fault {
  return new Fault('malformed', message, { code: 'INVALID_OPTION', cause })
}
