/** Whether a pooler stands between the server and the database, where a direct connection is needed. */
import { randomBytes } from 'node:crypto'
import { type Finding, fine, problem } from '../../../../core/finding.ts'
import { parseAddress } from '../../connect/address.ts'
import { loadDriver } from '../../connect/driver.ts'
import { ConnectFailed } from '../../connect/failures.ts'
import { Connection, statement } from '../../connect/session.ts'
import { withSession } from '../operator-session.ts'
import type { ExamineOptions } from './examine.ts'

const CONNECT_MS = 5_000
const HEARD_WITHIN_MS = 3_000
const NOTIFY = statement("SELECT pg_notify($1, 'heard')")
const ADVICE = 'Set listenUrl (--listen-url here) to the direct address of the database.'

/** Opens a connection as a server does, and sends a notification from another one to it. */
export async function examinePath({ url, listenUrl }: ExamineOptions): Promise<readonly Finding[]> {
  const what = listenUrl === undefined ? 'The address' : 'listenUrl'
  const listening = new Connection({
    driver: await loadDriver(),
    address: parseAddress(listenUrl ?? url),
    pooled: false,
    connectMs: CONNECT_MS,
    statementMs: CONNECT_MS,
  })
  const channel = `callplane_doctor_${randomBytes(6).toString('hex')}`
  try {
    await listening.open()
    const heard = new Promise<boolean>((resolve) => {
      listening.onNotice(() => resolve(true))
      setTimeout(() => resolve(false), HEARD_WITHIN_MS).unref()
    })
    await listening.query(statement(`LISTEN ${channel}`))
    await withSession(url, (session) => session.query(NOTIFY, [channel]))
    if (await heard) return [fine('notifications', 'Notifications arrive.')]
    return [
      problem('notifications', `${what} does not carry notifications: it names a pooler, or another database.`, ADVICE),
    ]
  } catch (thrown) {
    if (!(thrown instanceof ConnectFailed)) throw thrown
    const reason = thrown.cause instanceof Error ? thrown.cause.message : String(thrown.cause)
    return [problem('notifications', `${what} refuses a session of a server (${reason}), as poolers do.`, ADVICE)]
  } finally {
    await listening.close()
  }
}
