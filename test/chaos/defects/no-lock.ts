/** Loaded into a node: claims do not lock the calls that they take, so that two nodes can take the same one. */
import pg from 'pg'

const LOCK = /FOR (?:NO KEY )?UPDATE SKIP LOCKED/g
const original = pg.Client.prototype.query as (...args: unknown[]) => unknown

pg.Client.prototype.query = function query(this: pg.Client, ...args: unknown[]) {
  const [what, ...rest] = args as [{ text?: string } | undefined]
  const isClaim = what?.text?.includes('attempt + 1') === true
  return original.call(this, isClaim ? { ...what, text: what.text?.replace(LOCK, '') } : what, ...rest)
} as typeof pg.Client.prototype.query
