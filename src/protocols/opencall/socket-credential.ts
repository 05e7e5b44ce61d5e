/** The credential of a WebSocket's upgrade request. docs/readings.md#r33. */
import type { Presented } from '../../core/ports/guard.ts'

/** A page in a browser cannot set headers on a WebSocket: the query has the token then. A header takes precedence. */
export function withAccessToken(presented: Presented, query: string): Presented {
  if (presented.header('authorization') !== undefined || !query.includes('access_token')) return presented
  const token = new URLSearchParams(query).get('access_token')
  if (!token) return presented
  return { header: (name) => (name === 'authorization' ? `Bearer ${token}` : presented.header(name)) }
}
