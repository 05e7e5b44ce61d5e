/** A server ends after each single write that an approval takes, and the next one makes sense of what it left. */
import { APPROVAL_STORIES } from './approval-stories.ts'
import { testEveryPoint } from './every-point.ts'

testEveryPoint(APPROVAL_STORIES)
