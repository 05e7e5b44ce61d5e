/** Runs the command line of the official inspector, as a user would. */
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
  /** The server's result; its fields depend on the method. */
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

/** `words` are its arguments. Its own files are removed with the test, and it uses no keychain. */
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

/** Each of the two streams contains one JSON object or nothing. */
function parse(output: string): object {
  return output.trim() === '' ? {} : JSON.parse(output)
}
