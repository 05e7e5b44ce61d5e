/** `v1:Calculator.Add` in zod, for the rows where both sides validate with it. */
import { z } from 'zod'

/** Returns a new schema each time, because operations of a real program do not share schemas. */
export function zodSchemas() {
  return { args: z.object({ a: z.number(), b: z.number() }), result: z.number() }
}
