/** The timeline of a call in SQLite. test/nodes/operate.test.ts has the same stories for Postgres. */
import { inSqlite } from '../places.ts'
import { historyStories } from './history-stories.ts'

historyStories(inSqlite)
