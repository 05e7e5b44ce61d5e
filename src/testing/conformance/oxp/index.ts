/** The suites for OXP 1.0, as its own page specifies it (flat), and for OTC 1.0. They differ only in their wrappers. */
import { authCases } from './cases/auth.ts'
import { callCases } from './cases/calls.ts'
import { errorCases } from './cases/errors.ts'
import { listCases } from './cases/list.ts'
import { versionCases } from './cases/versions.ts'
import { casesFor } from './define.ts'

const cases = [...listCases, ...callCases, ...versionCases, ...errorCases, ...authCases]

export const oxpCases = casesFor('oxp', cases)
export const otcCases = casesFor('otc', cases)
