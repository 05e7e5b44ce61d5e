/** Loaded into a node: a generation is dropped with calls that have ended, although they are to be kept for longer. */
import pg from 'pg'

const original = pg.Client.prototype.query as (...args: unknown[]) => unknown
const RETENTION = 'keep_until <= $2 AS over'

pg.Client.prototype.query = function query(this: pg.Client, ...args: unknown[]) {
  const [what, ...rest] = args as [{ text?: string } | undefined]
  const isSlice = what?.text?.includes(RETENTION) === true
  const text = what?.text?.replace(RETENTION, '$2::bigint > 0 AS over')
  return original.call(this, isSlice ? { ...what, text } : what, ...rest)
} as typeof pg.Client.prototype.query
