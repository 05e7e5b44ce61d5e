/** Loaded into a process (`--import`): it kills itself after it has sent the statement of this number. */
import pg from 'pg'

const original = pg.Client.prototype.query as (...args: unknown[]) => unknown
const last = Number(process.env.KILL_AT)
let sent = 0

pg.Client.prototype.query = function query(this: pg.Client, ...args: unknown[]) {
  const answer = original.apply(this, args)
  if (++sent === last) setImmediate(() => process.kill(process.pid, 'SIGKILL'))
  return answer
} as typeof pg.Client.prototype.query
