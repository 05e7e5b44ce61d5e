/** Loads `pg`, an optional package, when a store on Postgres is opened. */
import { Fault } from '../../../core/fault.ts'

export type Driver = Pick<typeof import('pg'), 'Client' | 'types'>

export async function loadDriver(): Promise<Driver> {
  try {
    return (await import('pg')).default
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new Fault('malformed', 'A store on Postgres needs the package pg. Install it: npm install pg', {
      code: 'PACKAGE_MISSING',
      cause,
    })
  }
}
