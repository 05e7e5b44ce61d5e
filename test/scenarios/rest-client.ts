/** Operations and requests that the tests of the Tool Execution API share. */
import { jsonSchema, operation } from 'callplane'
import { z } from 'zod'
import type { Site } from './server.ts'

export const add = operation('v1:math.add', {
  description: 'Adds.',
  args: z.object({ a: z.number(), b: z.number().default(10) }),
  result: z.number(),
  run: ({ a, b }) => a + b,
})
export const forecast = operation('v1:weather.forecast', {
  args: jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  }),
  run: ({ city }) => ({ city, sunny: true }),
})

export const on = { rest: { allowExecute: true } }

interface Called {
  status: number
  type: string | null
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  json: any
}

export async function post(
  site: Site,
  path: string,
  body: unknown = {},
  headers: Record<string, string> = {},
): Promise<Called> {
  const response = await site.request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await response.text()
  return { status: response.status, type: response.headers.get('content-type'), text, json: JSON.parse(text) }
}

export const callTool = (site: Site, name: string, args?: unknown, headers?: Record<string, string>) =>
  post(site, `/tools/${name}/call`, args, headers)
