/** What operators do, with calls in SQLite. test/nodes/operate.test.ts has the same stories for Postgres. */
import { inSqlite } from '../places.ts'
import { describeOperating } from './stories/index.ts'

describeOperating(inSqlite)
