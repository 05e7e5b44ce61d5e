/** The tools that the official suite expects to ask their client a question, in both generations. */
import { operation } from 'callplane'

const form = (message: string, properties: object, required: string[] = Object.keys(properties)) => ({
  kind: 'form' as const,
  message,
  schema: { type: 'object', properties: { ...properties }, required },
})
const says = (content: string) => ({ role: 'user' as const, content: { type: 'text', text: content } })
const completion = (text: string, maxTokens: number) => ({
  kind: 'completion' as const,
  messages: [says(text)],
  maxTokens,
})
const ROOTS = { kind: 'roots' as const }
const NAME = form('What is your name?', { name: { type: 'string' } })
const CONFIRM = form('Please confirm', { ok: { type: 'boolean' } })

const statelessly = [
  operation('v1:test.input_required_result_elicitation', {
    description: 'Asks for a name.',
    async run(_, ctx) {
      const { user_name } = await ctx.ask({ user_name: NAME })
      return user_name.action === 'accept' ? `Hello, ${user_name.content.name}!` : 'Hello, whoever you are!'
    },
  }),
  operation('v1:test.input_required_result_sampling', {
    description: 'Asks a model.',
    async run(_, ctx) {
      const { capital_question } = await ctx.ask({
        capital_question: completion('What is the capital of France?', 100),
      })
      return capital_question.content
    },
  }),
  operation('v1:test.input_required_result_list_roots', {
    description: 'Asks for folders.',
    run: async (_, ctx) => (await ctx.ask({ client_roots: ROOTS })).client_roots,
  }),
  operation('v1:test.input_required_result_request_state', {
    description: 'Asks to confirm.',
    async run(_, ctx) {
      await ctx.ask({ confirm: CONFIRM })
      return 'state-ok'
    },
  }),
  operation('v1:test.input_required_result_tampered_state', {
    description: 'Asks to confirm.',
    async run(_, ctx) {
      await ctx.ask({ confirm: CONFIRM })
      return 'Confirmed.'
    },
  }),
  operation('v1:test.input_required_result_multiple_inputs', {
    description: 'Asks three things at once.',
    run: (_, ctx) => ctx.ask({ user_name: NAME, greeting: completion('Generate a greeting', 50), client_roots: ROOTS }),
  }),
  operation('v1:test.input_required_result_multi_round', {
    description: 'Asks one thing after the other.',
    async run(_, ctx) {
      const { step1 } = await ctx.ask({ step1: form('Step 1: What is your name?', { name: { type: 'string' } }) })
      const { step2 } = await ctx.ask({
        step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }),
      })
      return [step1, step2]
    },
  }),
  operation('v1:test.input_required_result_capabilities', {
    description: 'Asks whomever it can.',
    run: (_, ctx) =>
      ctx.ask({
        ...(ctx.canAsk('form') && { user_name: NAME }),
        ...(ctx.canAsk('completion') && { greeting: completion('Generate a greeting', 50) }),
      }),
  }),
  operation('v1:test.missing_capability', {
    description: 'Needs a model.',
    run: (_, ctx) => ctx.ask({ greeting: completion('Generate a greeting', 50) }),
  }),
  operation('v1:test.streaming_elicitation', {
    description: 'Asks for a name.',
    run: (_, ctx) => ctx.ask({ user_name: NAME }),
  }),
]

const inSession = [
  operation('v1:test.sampling', {
    description: 'Asks a model.',
    args: { type: 'object', required: ['prompt'], properties: { prompt: { type: 'string' } } },
    async run({ prompt }, ctx) {
      const { answer } = await ctx.ask({ answer: completion(String(prompt), 100) })
      return `LLM response: ${JSON.stringify(answer.content)}`
    },
  }),
  operation('v1:test.elicitation', {
    description: 'Asks the person.',
    args: { type: 'object', required: ['message'], properties: { message: { type: 'string' } } },
    async run({ message }, ctx) {
      const fields = { username: { type: 'string' }, email: { type: 'string' } }
      const { answer } = await ctx.ask({ answer: form(String(message), fields) })
      return `User response: ${JSON.stringify(answer)}`
    },
  }),
  operation('v1:test.elicitation_sep1034_defaults', {
    description: 'A form with defaults.',
    async run(_, ctx) {
      const fields = {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }
      const { answer } = await ctx.ask({ answer: form('Please review', fields, []) })
      return `Elicitation completed: ${JSON.stringify(answer)}`
    },
  }),
  operation('v1:test.elicitation_sep1330_enums', {
    description: 'A form with choices.',
    async run(_, ctx) {
      const options = ['option1', 'option2', 'option3']
      const titled = (what: string) =>
        ['First', 'Second', 'Third'].map((nth, index) => ({ const: `value${index + 1}`, title: `${nth} ${what}` }))
      const fields = {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled('Option') },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
      }
      const { answer } = await ctx.ask({ answer: form('Please choose', fields, []) })
      return `Elicitation completed: ${JSON.stringify(answer)}`
    },
  }),
]

const asTasks = [
  operation('v1:confirm.delete', {
    description: 'Asks before it deletes.',
    model: 'async',
    args: { type: 'object', required: ['filename'], properties: { filename: { type: 'string' } } },
    async run({ filename }, ctx) {
      const { sure } = await ctx.ask({ sure: form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }) })
      return sure.action === 'accept' && sure.content.confirm ? `Deleted ${filename}.` : `Kept ${filename}.`
    },
  }),
  operation('v1:multi.input', {
    description: 'Asks two things at once.',
    model: 'async',
    run: (_, ctx) =>
      ctx.ask({
        first: form('The first?', { name: { type: 'string' } }),
        second: form('The second?', { name: { type: 'string' } }),
      }),
  }),
  operation('v1:test.tool_with_task', {
    description: 'Asks before it begins.',
    model: 'async',
    requires: { answers: { user_name: NAME } },
    async run(_, ctx) {
      const { user_name } = await ctx.ask({ user_name: NAME })
      return `Done for ${user_name.action === 'accept' ? user_name.content.name : 'nobody'}.`
    },
  }),
]

export const asking = [...statelessly, ...inSession, ...asTasks]
