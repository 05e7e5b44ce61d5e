/** "Response Format": the response of a tool that runs. */
import { type JsonMembers, must, mustBeText, mustEqual } from '../../assertions.ts'
import { NotApplicable, Skip } from '../../case.ts'
import { refusedArguments } from '../../parts.ts'
import { defineCase } from '../define.ts'
import type { Subject, Tool } from '../subject.ts'

/** Checks that the content includes the known result. */
function mustSay({ example }: Tool, content: readonly JsonMembers[]): void {
  if (!('result' in example)) return
  const texts = content.map(({ text }) => String(text))
  must(
    texts.some((text) => text.includes(String(example.result))),
    `${String(example.result)} is not in the content: ${texts.join(' ')}`,
  )
}

async function failing(server: Subject): Promise<[Tool, string]> {
  const tool = await server.part('failing')
  return [tool, JSON.stringify(tool.example.fails?.args ?? tool.args)]
}

export const callCases = [
  defineCase(
    'call-succeeds',
    'a tool runs with the body as its arguments, and the response is 200 with its content',
    [1, 2, 3, 5, 17, 25, 33, 34, 35, 36, 47, 55],
    async (server) => {
      const tool = await server.part('sync')
      const { content, isError } = await server.call(tool, tool.body)

      mustEqual(isError, false, 'isError')
      must(content.length > 0, 'The content is empty.')
      mustSay(tool, content)
    },
  ),

  defineCase(
    'tool-fails',
    'a tool that reports a failure is 500 with its content and isError true',
    [26, 34, 37, 38, 56],
    async (server) => {
      const { content, isError } = await server.call(...(await failing(server)))

      mustEqual(isError, true, 'isError')
      must(content.length > 0, 'The content does not say what went wrong.')
    },
  ),

  defineCase(
    'trace-or-nothing',
    '_meta has a non-empty trace id, or is absent',
    [27, 36, 45, 46, 61],
    async (server) => {
      const tool = await server.part('sync')
      const answers = [await server.call(tool, tool.body)]
      if (server.target.operations?.failing !== undefined) answers.push(await server.call(...(await failing(server))))
      for (const { body } of answers) {
        must(!('_meta' in body) || typeof body._meta === 'object', '_meta is not an object.')
      }
    },
  ),

  defineCase('traces-differ', 'two calls have two trace ids', [36], async (server) => {
    const tool = await server.part('sync')
    const calls = [await server.call(tool, tool.body), await server.call(tool, tool.body)]
    const ids = calls.map(({ body }) => body._meta)
    if (ids.every((meta) => meta === undefined)) throw new NotApplicable('The server sends no trace ids.')
    must(JSON.stringify(ids[0]) !== JSON.stringify(ids[1]), 'Two calls have the same trace id.')
  }),

  defineCase(
    'wrong-arguments-are-answered',
    'a call with invalid arguments gets a result, never an error page',
    [34, 40, 43, 44],
    async (server) => {
      const tool = await server.part('validated')
      const [wrong] = refusedArguments(tool)
      const { content, isError } = await server.call(tool, JSON.stringify(wrong?.args))

      mustEqual(isError, true, 'isError')
      mustBeText(content[0]?.text, 'content[0].text')
    },
  ),

  defineCase('invalid-json-is-no-arguments', 'a body that is not JSON counts as {}', [6, 13, 59], async (server) => {
    const tool = await server.part('lenient')
    const empty = await server.call(tool, '{}')
    if (empty.isError) throw new Skip(`${tool.op} cannot be called without arguments here.`)

    for (const body of ['{bad', 'radius=40', '']) {
      const { isError, content } = await server.call(tool, body)
      mustEqual(isError, false, `isError for the body ${JSON.stringify(body)}`)
      mustEqual(
        content.map(({ type }) => type),
        empty.content.map(({ type }) => type),
        `the kinds of content for the body ${JSON.stringify(body)}`,
      )
    }
  }),

  defineCase('image-content', 'a picture is image content: a media type and base64', [48], async (server) => {
    const tool = await server.part('file')
    const { content } = await server.call(tool, tool.body)
    must(
      content.some(({ type }) => type === 'image'),
      'There is no image in the content.',
    )
  }),
]
