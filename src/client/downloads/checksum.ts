/** SHA-256 as OpenCALL writes it. `crypto.subtle` exists only on secure pages, so a page without it cannot verify chunks. */
import { CallFault } from '../fault.ts'
import { hex } from '../ids.ts'

export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (!globalThis.crypto?.subtle)
    throw new CallFault(
      'RESULT_UNREADABLE',
      'The result cannot be verified: this page is not secure. Serve it over HTTPS.',
      { outcome: 'failed' },
    )
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `sha256:${hex(digest)}`
}
