/** Addresses that only this machine can reach. A server without authentication must listen on one of them. */
import { Fault } from '../../core/fault.ts'

export function requireProtection(host: string, authenticator: object | undefined): void {
  if (authenticator || isLoopback(host)) return
  throw new Fault(
    'malformed',
    `Without authentication the server listens on loopback only, not on ${host}. Configure auth first.`,
    { code: 'UNPROTECTED' },
  )
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}
