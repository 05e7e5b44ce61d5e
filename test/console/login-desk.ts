/** A server that people log in to, and how they do it. */
import { createToken, operation, type ServerOptions } from 'callplane'
import { type Site, startSite } from '../scenarios/server.ts'

const whose = operation('v1:it.is', { run: (_args, { caller }) => `${caller.issuer}|${caller.subject}` })
export const ada = createToken()
export const auth = {
  tokens: [{ hash: ada.hash, kind: 'bearer' as const, subject: 'ada', scopes: ['orders', 'callplane:read'] }],
}
export const MINUTE = 60_000

export function open(options: Partial<ServerOptions> = {}): Promise<Site> {
  return startSite({ operations: [whose], ...options })
}
