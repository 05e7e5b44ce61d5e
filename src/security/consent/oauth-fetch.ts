/**
 * Sends requests to a provider through the client for remote tools: to checked addresses, without redirects, and with
 * limits on size and time that suit the short documents of a provider.
 */
import { Fault } from '../../core/fault.ts'
import type { RemoteClient } from '../../core/ports/outbound.ts'
import { fetchDocument } from '../outbound/documents.ts'
import { checkAddress, type OAuthProvider } from './provider.ts'

export type ProviderFetch = (url: string, init: ProviderRequest) => Promise<Response>

interface ProviderRequest {
  method?: string
  headers?: Record<string, string>
  body?: URLSearchParams | undefined
}

export function createProviderFetch(id: string, provider: OAuthProvider, remote: RemoteClient): ProviderFetch {
  const { timeoutMs = 10_000 } = provider
  return async (address, { method = 'GET', headers = {}, body }) => {
    const { href } = checkAddress(address, provider, `An endpoint in the metadata of ${id}`)
    const signal = AbortSignal.timeout(timeoutMs)
    const asked = { method: method === 'POST' ? ('POST' as const) : ('GET' as const), headers, signal }
    try {
      return await fetchDocument(remote, href, { ...asked, ...(body && { body: body.toString() }) })
    } catch (cause) {
      throw unreachable(id, cause)
    }
  }
}

export function unreachable(id: string, cause?: unknown): Fault {
  return new Fault('upstream', `${id} could not be reached for your authorization. Try again in a moment.`, {
    code: 'PROVIDER_UNREACHABLE',
    ...(cause !== undefined && { cause }),
  })
}
