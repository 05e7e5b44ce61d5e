/** `POST /call` with the global `fetch` alone. It sends no ids, and reads the result only. */
import { ADD } from './add-schemas.ts'
import { addressOf, clientOf } from './client.ts'
import type { Contender } from './contender.ts'

export const start: Contender = async (options) => {
  const url = `${addressOf(options)}/call`
  const headers = { 'content-type': 'application/json' }
  return clientOf(async (a, b) => {
    const body = JSON.stringify({ op: ADD, args: { a, b } })
    const response = await fetch(url, { method: 'POST', headers, body })
    const { result } = (await response.json()) as { result?: unknown }
    return result
  })
}
