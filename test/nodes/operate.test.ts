/** What operators do, with calls in Postgres: the stories of SQLite, on one server. */
import { describe, vi } from 'vitest'
import { describeWith, postgresServer } from '../engines/engines.ts'
import { usePostgres } from '../engines/use-postgres.ts'
import { historyStories } from '../scenarios/calls/history-stories.ts'
import { listingStories } from '../scenarios/calls/listing-stories.ts'
import { payloadStories } from '../scenarios/calls/payload-stories.ts'
import { describeOperating } from '../scenarios/operate/stories/index.ts'
import { inPostgres } from '../scenarios/places.ts'

vi.setConfig({ testTimeout: 60_000 })

describeWith(postgresServer, 'on Postgres', () => {
  const newPlace = inPostgres(usePostgres())
  describeOperating(newPlace)
  describe('lists', () => listingStories(newPlace))
  describe('payloads', () => payloadStories(newPlace))
  describe('the timeline of a call', () => historyStories(newPlace))
})
