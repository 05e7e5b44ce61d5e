/** Operations that are functions live side by side with those that are declared. */
import { operation } from 'callplane'
import { z } from 'zod'

export const shout = operation('v1:text.shout', {
  description: 'Says it louder.',
  args: z.object({ text: z.string() }),
  result: z.string(),
  run: ({ text }) => text.toUpperCase(),
})
