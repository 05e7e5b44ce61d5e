/** The resources and prompts that the official suite expects. */
import type { ServerOptions } from 'callplane'
import { PNG } from './operations.ts'

type McpOptions = NonNullable<ServerOptions['mcp']>

const PICTURE = Uint8Array.from(atob(PNG), (character) => character.charCodeAt(0))
const text = (said: string) => ({ role: 'user' as const, content: { type: 'text', text: said } })

export const resources: NonNullable<McpOptions['resources']> = [
  {
    uri: 'test://static-text',
    name: 'static-text',
    description: 'A text.',
    mimeType: 'text/plain',
    read: () => 'This is the content of the static text resource.',
  },
  {
    uri: 'test://static-binary',
    name: 'static-binary',
    description: 'A picture.',
    mimeType: 'image/png',
    read: () => PICTURE,
  },
  {
    uri: 'test://watched-resource',
    name: 'watched',
    description: 'One that changes now and then.',
    mimeType: 'text/plain',
    read: () => 'As of now.',
    watch(changed) {
      const timer = setInterval(() => changed(), 1_000)
      return () => clearInterval(timer)
    },
  },
  {
    uri: 'test://template/{id}/data',
    name: 'template',
    description: 'Data by its id.',
    mimeType: 'application/json',
    read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  },
]

export const prompts: NonNullable<McpOptions['prompts']> = [
  {
    name: 'test_simple_prompt',
    description: 'One sentence.',
    get: () => 'This is a simple prompt for testing.',
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'Two arguments.',
    arguments: [
      { name: 'arg1', description: 'The first.', required: true, complete: (value) => [`${value}is`, `${value}ty`] },
      { name: 'arg2', description: 'The second.', required: true },
    ],
    get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A resource.',
    arguments: [{ name: 'resourceUri', description: 'Which one.', required: true }],
    get: ({ resourceUri = '' }) => [
      {
        role: 'user',
        content: {
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        },
      },
      text('Please process the embedded resource above.'),
    ],
  },
  {
    name: 'test_input_required_result_prompt',
    description: 'Asks what it is about.',
    async get(_, { ask }) {
      const { user_context } = await ask({
        user_context: {
          kind: 'form',
          message: 'What context should the prompt use?',
          schema: { type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
        },
      })
      return `About: ${user_context.action === 'accept' ? user_context.content.context : 'nothing'}`
    },
  },
  {
    name: 'test_prompt_with_image',
    description: 'A picture.',
    get: () => [
      { role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } },
      text('Please analyze the image above.'),
    ],
  },
]
