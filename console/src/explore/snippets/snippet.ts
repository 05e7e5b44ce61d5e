/** A program or command that makes the call of the page again. */
import type { Entry, ToolName } from '../wires/wire.ts'

export interface SnippetCall {
  entry: Entry
  /** JSON text of an object. */
  argsText: string
  /** The server's address, without a slash at the end. */
  url: string
  /** True if the server wants a token. It is read from `CALLPLANE_TOKEN`, and never part of a snippet. */
  withToken: boolean
  /** A repeat of the snippet joins the first call. */
  idempotencyKey: string
  /** Paths of files by the name of their slot. */
  files: readonly SnippetFile[]
  tool?: ToolName
}

export interface SnippetFile {
  name: string
  mimeType: string
  path: string
}

export type SnippetId = 'curl' | 'typescript' | 'python' | 'go' | 'cli' | 'mcp'

export interface Snippet {
  id: SnippetId
  title: string
  /** `undefined` if the call cannot be made this way. */
  write(call: SnippetCall): string | undefined
}
