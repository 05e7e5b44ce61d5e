/** Sessions of the console at two servers on one Postgres. */
import { vi } from 'vitest'
import { type OpenPair, sessionStories } from '../console/session-stories.ts'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { usePostgres } from '../engines/use-postgres.ts'
import { inPostgres } from '../scenarios/places.ts'
import { startNodes } from './sites.ts'

vi.setConfig({ testTimeout: 60_000 })

describeWith(postgresServer, 'sessions at two servers on one Postgres', () => {
  const postgres = usePostgres()
  const newPlace = inPostgres(postgres)
  sessionStories(async (options) => {
    const sites = await startNodes(postgres.server, { options: { ...options, ...newPlace() } })
    return sites as unknown as Awaited<ReturnType<OpenPair>>
  })
})
