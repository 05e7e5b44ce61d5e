/** The command line of the official inspector, run as a person would run it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../cli/processes.ts'

const require = createRequire(import.meta.url)
const LAUNCHER = require.resolve('@modelcontextprotocol/inspector/clients/launcher/build/index.js')

export interface Inspected {
  code: number | null
  /** What the server answered; its fields are those of the method. */
  result: InspectedResult
  error: { code: string; message: string }
}

interface InspectedResult {
  tools: { name: string }[]
  content: [{ type: string; text: string; uri: string }]
  structuredContent: unknown
  isError: boolean
  resources: { uri: string }[]
  contents: [{ mimeType: string; text: string; blob: string }]
}

/** `words` are its arguments; what it keeps of its own goes with the test, and no keychain is asked. */
export async function inspect(...words: readonly string[]): Promise<Inspected> {
  const own = { HOME: await temporaryFolder(), MCP_INSPECTOR_SECRET_STORE: 'memory' }
  const options = ['--format', 'json', '--quiet', '--stored-auth-only']
  const child = spawn(process.execPath, [LAUNCHER, '--cli', ...words, ...options], {
    env: { ...process.env, ...own },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [[code], output, complaint] = await Promise.all([
    once(child, 'exit') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ])
  return { code, ...parse(output), ...parse(complaint) } as Inspected
}

/** Each of the two streams is one object, or nothing. */
function parse(output: string): object {
  return output.trim() === '' ? {} : JSON.parse(output)
}
