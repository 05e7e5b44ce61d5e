/** The quickstart as an agent meets it: at an address, or as a command that the agent starts itself. */
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
  'Pictures_Draw',
  'Reports_Generate',
  'Text_Shout',
]

/** With a token, only its bearer is served. */
export async function serveQuickstart(token?: string): Promise<string> {
  const data = await temporaryFolder()
  const { url } = await serveProcess(
    [QUICKSTART, '--data', data],
    token === undefined ? {} : { env: { CALLPLANE_TOKEN: token } },
  )
  return url
}

/** As `callplane mcp examples/quickstart`, from the sources and with a data folder that goes with the test. */
export async function quickstartCommand(): Promise<{ command: string; args: string[] }> {
  return {
    command: process.execPath,
    args: ['--conditions=callplane-source', MAIN, 'mcp', QUICKSTART, '--data', await temporaryFolder()],
  }
}
