/** What a server says at its start about the database that it uses. `callplane doctor` finds more. */
import type { Log } from '../../../core/ports/runtime.ts'
import { type Session, statement } from '../connect/session.ts'

const STANDBYS = statement("SELECT current_setting('synchronous_standby_names') AS names")

export async function warnOfLoss(session: Session, log: Log | undefined): Promise<void> {
  const { rows } = await session.query<{ names: string }>(STANDBYS)
  if (rows[0]?.names === '')
    log?.warn(
      {},
      'synchronous_standby_names is empty in Postgres: if it fails over to a standby, acknowledged calls can be lost',
    )
}
