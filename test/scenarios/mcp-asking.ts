/** Handlers that ask questions, and the tests' replies to them. */
import { operation } from 'callplane'

export const SURE = {
  kind: 'form' as const,
  message: 'Are you sure?',
  schema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
}
export const HAIKU = {
  kind: 'completion' as const,
  messages: [{ role: 'user' as const, content: { type: 'text', text: 'A haiku, please.' } }],
  maxTokens: 50,
}
export const FORMS = { elicitation: {} }
export const YES = { action: 'accept', content: { sure: true } }

export const remove = operation('v1:files.remove', {
  args: { type: 'object', properties: { name: { type: 'string' } } },
  async run({ name }, ctx) {
    const { confirm } = await ctx.ask({ confirm: SURE })
    if (confirm.action !== 'accept') return `kept ${name}`
    const { again } = await ctx.ask({ again: SURE })
    return again.action === 'accept' && again.content.sure ? `removed ${name}` : `kept ${name}`
  },
})
