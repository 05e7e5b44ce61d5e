/** When records expire, for a move: the store's own port does not tell. */
import { statement } from '../connect/session.ts'
import { encodeArray } from '../sql/arrays.ts'
import { encodeText } from '../sql/plain-text.ts'
import { tablesOf } from '../tables.ts'
import { withSession } from './operator-session.ts'

/** In the order of the keys. `undefined` for a record that stays, and for one that is not there. */
export function readExpiries(
  url: string,
  schema: string,
  keys: readonly string[],
): Promise<readonly (number | undefined)[]> {
  const select = statement(`SELECT key, expires_at AS at FROM ${tablesOf(schema).records}
    WHERE key = ANY ($1::text[]) AND expires_at IS NOT NULL`)
  return withSession(url, async (session) => {
    const encoded = keys.map(encodeText)
    const { rows } = await session.query<{ key: string; at: number }>(select, [encodeArray('text', encoded)])
    const expiries = new Map(rows.map(({ key, at }) => [key, at]))
    return encoded.map((key) => expiries.get(key))
  })
}
