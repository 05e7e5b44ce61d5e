/** Refuses side effects to read-only sessions of the console. */
import { refuseEffects } from '../../core/call/read-only.ts'
import type { Guard } from '../../core/ports/guard.ts'

export const readOnlyGuard: Guard = { admit: refuseEffects }
