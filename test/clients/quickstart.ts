/** The quickstart as an agent uses it: at an address, or as a command that the agent starts. */
import { join } from 'node:path'
import { QUICKSTART, serveProcess, temporaryFolder } from '../cli/processes.ts'

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts')

export const TOOLS = [
  'Calculator_Add',
  'Calculator_Sum',
  'Doorbell_Ring',
  'Files_Describe',
  'Greeter_Hello',
  'Notes_Add',
  'Orders_Export',
  'Orders_Refund',
  'Pictures_Draw',
  'Reports_Generate',
  'Text_Shout',
]

/** For clients with tasks: a stream is one of their tools, too. */
export const TOOLS_WITH_TASKS = [...TOOLS, 'Waves_Watch']

/** If a token is set, the server requires it. */
export async function serveQuickstart(token?: string): Promise<string> {
  const data = await temporaryFolder()
  const { url } = await serveProcess(
    [QUICKSTART, '--data', data],
    token === undefined ? {} : { env: { CALLPLANE_TOKEN: token } },
  )
  return url
}

/** Runs `callplane mcp examples/quickstart` from the sources, with a data folder that is removed with the test. */
export async function quickstartCommand(): Promise<{ command: string; args: string[] }> {
  return {
    command: process.execPath,
    args: ['--conditions=callplane-source', MAIN, 'mcp', QUICKSTART, '--data', await temporaryFolder()],
  }
}
