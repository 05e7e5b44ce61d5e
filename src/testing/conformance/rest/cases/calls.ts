/** "Response Format": what becomes of a tool that runs. */
import { must, mustBeText, mustEqual } from '../../assertions.ts'
import { Skip } from '../../case.ts'
import { defineCase } from '../define.ts'

const SUM = '{"a":19,"b":23}'

export const callCases = [
  defineCase(
    'call-succeeds',
    'a tool is run with the body as its arguments, and answered 200 with its content',
    [1, 2, 3, 5, 17, 25, 33, 34, 35, 36, 47, 55],
    async (server) => {
      const { content, isError } = await server.call('add', SUM)

      mustEqual(isError, false, 'isError')
      must(content.length > 0, 'The content is empty.')
      const texts = content.map(({ text }) => String(text))
      must(
        texts.some((text) => /\b42\b/.test(text)),
        `19 + 23 is not in the content: ${texts.join(' ')}`,
      )
    },
  ),

  defineCase(
    'tool-fails',
    'a tool that says it failed is 500 with its content and isError true',
    [26, 34, 37, 38, 56],
    async (server) => {
      const { content, isError } = await server.call('ring', '{"doorbell_id":"no such bell"}')

      mustEqual(isError, true, 'isError')
      must(content.length > 0, 'The content does not say what went wrong.')
    },
  ),

  defineCase(
    'trace-or-nothing',
    '_meta has a trace id that says something, or is not there',
    [27, 36, 45, 46, 61],
    async (server) => {
      for (const { body } of [await server.call('add', SUM), await server.call('ring', '{"doorbell_id":"none"}')]) {
        must(!('_meta' in body) || typeof body._meta === 'object', '_meta is not an object.')
      }
    },
  ),

  defineCase('traces-differ', 'two calls have two trace ids', [36], async (server) => {
    const ids = [await server.call('add', SUM), await server.call('add', SUM)].map(({ body }) => body._meta)
    if (ids.every((meta) => meta === undefined)) throw new Skip('The server sends no trace ids.')
    must(JSON.stringify(ids[0]) !== JSON.stringify(ids[1]), 'Two calls have the same trace id.')
  }),

  defineCase(
    'wrong-arguments-are-answered',
    'a tool that gets what it cannot use is answered with a result, never with an error page',
    [34, 40, 43, 44],
    async (server) => {
      const { content, isError } = await server.call('add', '{"a":"nineteen","b":{}}')

      mustEqual(isError, true, 'isError')
      mustBeText(content[0]?.text, 'content[0].text')
    },
  ),

  defineCase('invalid-json-is-no-arguments', 'a body that is not JSON counts as {}', [6, 13, 59], async (server) => {
    const empty = await server.call('draw', '{}')
    if (empty.isError) throw new Skip(`${server.tools.draw} cannot be called without arguments here.`)

    for (const body of ['{bad', 'radius=40', '']) {
      const { isError, content } = await server.call('draw', body)
      mustEqual(isError, false, `isError for the body ${JSON.stringify(body)}`)
      mustEqual(
        content.map(({ type }) => type),
        empty.content.map(({ type }) => type),
        `the kinds of content for the body ${JSON.stringify(body)}`,
      )
    }
  }),

  defineCase('image-content', 'a picture is image content: a media type and base64', [48], async (server) => {
    const { content } = await server.call('draw', '{"radius":3}')
    must(
      content.some(({ type }) => type === 'image'),
      'There is no image in the content.',
    )
  }),
]
