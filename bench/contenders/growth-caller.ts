/** Who calls while the store grows: the same as whose calls are in it, since those of one caller lie more closely. */
import { ANONYMOUS, type Caller } from '../../src/core/caller.ts'

export const CALLER: Caller = { ...ANONYMOUS, scopes: ['*'] }
