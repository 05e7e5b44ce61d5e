/** All snippets, in the order of their tabs. */
import { cli } from './cli.ts'
import { curl } from './curl.ts'
import { go } from './go.ts'
import { mcpJson } from './mcp-json.ts'
import { python } from './python.ts'
import type { Snippet } from './snippet.ts'
import { typescript } from './typescript.ts'

export const SNIPPETS: readonly Snippet[] = [curl, typescript, python, go, cli, mcpJson]
