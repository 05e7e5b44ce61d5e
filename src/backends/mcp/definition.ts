/** Builds an operation from a tool's description. The import's own settings override the description. */
import type { Tool } from '@modelcontextprotocol/client'
import { Fault } from '../../core/fault.ts'
import type { AuthDeclaration } from '../../core/operation/credential.ts'
import { importedName, parseName } from '../../core/operation/names.ts'
import type { OperationDefinition } from '../../core/operation/operation.ts'
import type { OperationRules } from '../../core/operation/rules.ts'

export interface ImportRules {
  namespace: string
  major: number
  rules: OperationRules
  auth?: AuthDeclaration
}

export function defineTool(tool: Tool, { namespace, major, rules, auth }: ImportRules): OperationDefinition {
  const name = importedName(major, namespace, tool.name)
  parseName(name)
  if (tool.execution?.taskSupport === 'required') {
    throw new Fault('malformed', `${name} can only run as an MCP task, which imports do not support.`)
  }
  return {
    name,
    rules: { ...rulesOf(tool), ...rules },
    args: tool.inputSchema,
    ...(tool.outputSchema && { result: tool.outputSchema }),
    backend: { kind: 'mcp', tool: tool.name },
    ...(auth && { auth }),
  }
}

/** MCP, "Tool annotations": by default a tool may have effects, and repeating a call repeats them. */
function rulesOf({ title, description, annotations = {} }: Tool): OperationRules {
  const shown = title ?? annotations.title
  const sideEffecting = annotations.readOnlyHint !== true
  return {
    ...(description !== undefined && { description }),
    ...(shown !== undefined && { title: shown }),
    sideEffecting,
    idempotencyRequired: sideEffecting && annotations.idempotentHint !== true,
  }
}
