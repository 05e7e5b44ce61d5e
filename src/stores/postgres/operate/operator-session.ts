/** One connection for an operator's command. It also works through a pooler, and changes no setting of the session. */
import { parseAddress } from '../connect/address.ts'
import { loadDriver } from '../connect/driver.ts'
import { openFault } from '../connect/failures.ts'
import { Connection, type Session } from '../connect/session.ts'

const CONNECT_MS = 5_000
/** Longer than a server's, because no caller waits. */
const STATEMENT_MS = 60_000

/** `shown` names the database without the login. */
export async function withSession<T>(url: string, use: (session: Session, shown: string) => Promise<T>): Promise<T> {
  const address = parseAddress(url)
  const connection = new Connection({
    driver: await loadDriver(),
    address,
    pooled: true,
    connectMs: CONNECT_MS,
    statementMs: STATEMENT_MS,
  })
  try {
    await connection.open()
    return await use(connection, address.shown)
  } catch (thrown) {
    throw openFault(thrown, address.shown)
  } finally {
    await connection.close()
  }
}
