/** Sessions of the console at a server with two workers, whose calls are in SQLite. */
import { sessionStories } from '../console/session-stories.ts'
import { startPair } from './pair.ts'

sessionStories((options) => startPair(options, { clock: options.clock }))
