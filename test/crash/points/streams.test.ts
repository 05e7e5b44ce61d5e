/** A server ends after each single write of a subscription, and the next server recovers from that state. */
import { testEveryPoint } from './every-point.ts'
import { STREAM_STORIES } from './stream-stories.ts'

testEveryPoint(STREAM_STORIES)
