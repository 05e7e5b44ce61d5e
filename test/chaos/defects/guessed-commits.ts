/** Loaded into a node: a statement whose answer was lost counts as refused, although it may have been committed. */
import pg from 'pg'

const original = pg.Client.prototype.query as (...args: unknown[]) => Promise<unknown>
const SQL_STATE = /^(?!57P)[0-9A-Z]{5}$/

pg.Client.prototype.query = async function query(this: pg.Client, ...args: unknown[]) {
  try {
    return await original.apply(this, args)
  } catch (thrown) {
    const { code } = thrown as { code?: unknown }
    if (typeof code === 'string' && !code.startsWith('E') && SQL_STATE.test(code)) throw thrown
    throw Object.assign(new Error('It was not committed, most likely.', { cause: thrown }), { code: '22000' })
  }
} as typeof pg.Client.prototype.query
