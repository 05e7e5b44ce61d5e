/** "Tool Version Resolution" */
import { must, mustEqual } from '../../assertions.ts'
import { expectStatus } from '../../http.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

async function runTool(server: Subject, tool: string): Promise<unknown> {
  return (await expectStatus(200, server.call({ tool_id: tool, input: { text: 'hey' } }))).result.value
}

export const versionCases = [
  defineCase('several-versions', 'a full version runs exactly that one', [18, 19, 20], async (server) => {
    const tool = await server.part('versions')
    const values: string[] = []
    for (const version of ['1.0.0', '1.2.0', '2.0.0']) {
      values.push(JSON.stringify(await runTool(server, `${tool}@${version}`)))
    }
    mustEqual(new Set(values).size, 3, 'number of different values of three versions')
    await expectStatus(400, server.call({ tool_id: `${tool}@1.2.1`, input: { text: 'hey' } }))
  }),

  defineCase('shorthand-version', '@1 runs 1.0.0, though 1.2.0 is there', [19, 21], async (server) => {
    const tool = await server.part('versions')
    for (const major of ['1', '2']) {
      mustEqual(await runTool(server, `${tool}@${major}`), await runTool(server, `${tool}@${major}.0.0`), `@${major}`)
    }
    const [shorthand, newer] = [await runTool(server, `${tool}@1`), await runTool(server, `${tool}@1.2.0`)]
    must(JSON.stringify(shorthand) !== JSON.stringify(newer), '@1 runs 1.2.0.')
  }),

  defineCase('latest-version', 'without a version the latest runs', [22], async (server) => {
    const tool = await server.part('versions')
    mustEqual(await runTool(server, tool), await runTool(server, `${tool}@2.0.0`), 'value without a version')
  }),

  defineCase(
    'version-not-there',
    'a version that is not there is 400, whatever the input',
    [13, 24, 28],
    async (server) => {
      const tool = await server.part('add')
      for (const version of ['999', '999.0.0', '1.999.0']) {
        const call = { tool_id: `${tool}@${version}`, input: { a: 1, b: 2 } }
        await expectStatus(400, server.call(call))
        // The tool is looked up before its input is judged.
        await expectStatus(400, server.call({ ...call, input: { a: 'none' } }))
      }
    },
  ),

  defineCase(
    'malformed-version',
    'an id with something else than x or x.y.z after the @ is 400',
    [27],
    async (server) => {
      const tool = await server.part('add')
      for (const version of ['1.0', '', '-1', '1.0.0-rc1', 'latest', '1.0.0.0']) {
        await expectStatus(400, server.call({ tool_id: `${tool}@${version}`, input: { a: 1, b: 2 } }))
      }
    },
  ),

  defineCase(
    'tool-not-there',
    'a tool that is not there, and an id that is none, are 400',
    [13, 24, 27],
    async (server) => {
      const tool = await server.part('add')
      const wrongCase = tool === tool.toLowerCase() ? tool.toUpperCase() : tool.toLowerCase()
      for (const id of ['No.SuchTool', 'nonsense', `${tool}.more`, wrongCase]) {
        const { body } = await expectStatus(400, server.call({ tool_id: id, input: { a: 1, b: 2 } }))
        must(!('parameter_errors' in body), 'A tool that is not there has wrong parameters.')
      }
    },
  ),
]
