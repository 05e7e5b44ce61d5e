/** One Postgres server for the tests of a file or of a `describe`. */
import { afterAll, beforeAll } from 'vitest'
import { type Postgres, startPostgres } from './postgres.ts'

export interface UsedPostgres {
  /** In tests, not before. */
  readonly server: Postgres
}

export function usePostgres(): UsedPostgres {
  let server: Postgres | undefined
  beforeAll(async () => {
    server = await startPostgres()
  }, 60_000)
  afterAll(() => server?.[Symbol.asyncDispose]())
  return {
    get server() {
      if (!server) throw new Error('Postgres is started before the first test.')
      return server
    },
  }
}
