/** A tool as its server describes it, as an operation. What the import says of its tools goes before what they say. */
import type { Tool } from '@modelcontextprotocol/client'
import type { AuthDeclaration } from '../../core/credential.ts'
import { Fault } from '../../core/fault.ts'
import { importedName, parseName } from '../../core/names.ts'
import type { OperationDefinition, OperationRules } from '../../core/operation.ts'

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
    throw new Fault('malformed', `${name} can only be run as a task of MCP, which is not supported for imports.`)
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

/** MCP, "Tool annotations": whatever is not said may have effects, and effects that add up. */
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
