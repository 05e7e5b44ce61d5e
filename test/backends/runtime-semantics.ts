/** The requirements that the stories of the shared backend suite prove: Tool Contract v1, "Runtime Semantics". */
import type { BackendStories } from '../../src/testing/suites/backend/backend.ts'
import { verifies } from '../requirements.ts'

export const showsRuntimeSemantics: BackendStories = {
  shows(what) {
    verifies(
      {
        timeout: 'contract:121',
        cancel: 'contract:122',
        deterministic: 'contract:124',
        bounded: 'contract:125',
      }[what],
    )
  },
}
