/**
 * The caller while the store grows. It also owns the stored calls, because the rows of one caller are stored closer
 * together.
 */
import { ANONYMOUS, type Caller } from '../../src/core/call/caller.ts'

export const CALLER: Caller = { ...ANONYMOUS, scopes: ['*'] }
