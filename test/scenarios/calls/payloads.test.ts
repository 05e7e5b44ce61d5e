/** The arguments and results of calls in SQLite. test/nodes/operate.test.ts has the same stories for Postgres. */
import { inSqlite } from '../places.ts'
import { payloadStories } from './payload-stories.ts'

payloadStories(inSqlite)
