/** A server ends after each single write of an approval, and the next server recovers from that state. */
import { APPROVAL_STORIES } from './approval-stories.ts'
import { testEveryPoint } from './every-point.ts'

testEveryPoint(APPROVAL_STORIES)
