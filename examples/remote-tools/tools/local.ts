/** Functions and declared operations can live in the same folder. */
import { operation } from 'callplane'
import { z } from 'zod'

export const shout = operation('v1:text.shout', {
  description: 'Says it louder.',
  args: z.object({ text: z.string() }),
  result: z.string(),
  run: ({ text }) => text.toUpperCase(),
})
