/** "Tool Version Resolution" */

import { invalidArguments } from '../../../samples/samples.ts'
import { must, mustEqual } from '../../assertions.ts'
import { NotApplicable } from '../../case.ts'
import { expectStatus } from '../../http.ts'
import type { Part } from '../../parts.ts'
import { defineCase } from '../define.ts'
import type { Subject } from '../subject.ts'

async function runTool(server: Subject, { args }: Part, toolId: string): Promise<unknown> {
  return (await expectStatus(200, server.call({ tool_id: toolId, input: args }))).result.value
}

/** True if every version is known to return another result, so that a wrong version can be detected. */
function areDistinct({ example }: Part): boolean {
  return example.versions !== undefined
}

function byVersion(one: string, other: string): number {
  const [a, b] = [one.split('.').map(Number), other.split('.').map(Number)]
  return (b[0] ?? 0) - (a[0] ?? 0) || (b[1] ?? 0) - (a[1] ?? 0) || (b[2] ?? 0) - (a[2] ?? 0)
}

export const versionCases = [
  defineCase('several-versions', 'a full version runs exactly that one', [18, 19, 20], async (server) => {
    const tool = await server.part('versions')
    const versions = await server.versionsOf(tool.op)
    const values: string[] = []
    for (const version of versions) values.push(JSON.stringify(await runTool(server, tool, `${tool.op}@${version}`)))
    if (areDistinct(tool))
      mustEqual(new Set(values).size, versions.length, 'number of different values of the versions')
    const absent = `${versions[1]?.replace(/\d+$/, '')}${Number(versions[1]?.split('.')[2]) + 1}`
    if (!versions.includes(absent)) {
      await expectStatus(400, server.call({ tool_id: `${tool.op}@${absent}`, input: tool.args }))
    }
  }),

  defineCase('shorthand-version', '@1 runs 1.0.0, although there is a 1.2.0', [19, 21], async (server) => {
    const tool = await server.part('versions')
    const versions = await server.versionsOf(tool.op)
    const majors = versions.filter((version) => /^\d+\.0\.0$/.test(version)).map((version) => version.split('.')[0])
    if (majors.length === 0) throw new NotApplicable(`${tool.op} has no version x.0.0.`)
    for (const major of majors) {
      const shorthand = await runTool(server, tool, `${tool.op}@${major}`)
      if (!areDistinct(tool)) continue
      mustEqual(shorthand, await runTool(server, tool, `${tool.op}@${major}.0.0`), `@${major}`)
      for (const newer of versions.filter((each) => each.startsWith(`${major}.`) && each !== `${major}.0.0`)) {
        const value = await runTool(server, tool, `${tool.op}@${newer}`)
        must(JSON.stringify(shorthand) !== JSON.stringify(value), `@${major} runs ${newer}.`)
      }
    }
  }),

  defineCase('latest-version', 'without a version the latest runs', [22], async (server) => {
    const tool = await server.part('versions')
    const [latest] = (await server.versionsOf(tool.op)).sort(byVersion)
    const value = await runTool(server, tool, tool.op)
    if (areDistinct(tool))
      mustEqual(value, await runTool(server, tool, `${tool.op}@${latest}`), 'value without a version')
  }),

  defineCase(
    'version-not-there',
    'a version that does not exist is 400, whatever the input',
    [13, 24, 28],
    async (server) => {
      const tool = await server.part('sync')
      for (const version of ['999', '999.0.0', '1.999.0']) {
        const call = { tool_id: `${tool.op}@${version}`, input: tool.args }
        await expectStatus(400, server.call(call))
        // The server looks up the tool before it checks the input.
        const [wrong] = invalidArguments(tool.argsSchema, tool.args)
        if (wrong) await expectStatus(400, server.call({ ...call, input: wrong.args }))
      }
    },
  ),

  defineCase('malformed-version', 'an id with a version other than x or x.y.z is 400', [27], async (server) => {
    const tool = await server.part('sync')
    for (const version of ['1.0', '', '-1', '1.0.0-rc1', 'latest', '1.0.0.0']) {
      await expectStatus(400, server.call({ tool_id: `${tool.op}@${version}`, input: tool.args }))
    }
  }),

  defineCase('tool-not-there', 'an unknown tool and an invalid id are 400', [13, 24, 27], async (server) => {
    const { op: tool, args } = await server.part('sync')
    const wrongCase = tool === tool.toLowerCase() ? tool.toUpperCase() : tool.toLowerCase()
    for (const id of ['No.SuchTool', 'nonsense', `${tool}.more`, wrongCase]) {
      const { body } = await expectStatus(400, server.call({ tool_id: id, input: args }))
      must(!('parameter_errors' in body), 'The response for an unknown tool has parameter_errors.')
    }
  }),
]
