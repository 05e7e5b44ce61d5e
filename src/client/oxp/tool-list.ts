/** Decodes the list of tools. OXP has it in `items`, OTC in `tools`, and published servers send the array alone. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../core/json.ts'
import { OxpError } from './error.ts'
import { type Answer, notOxp, saidBy } from './exchange.ts'
import type { OxpTool, OxpToolRequirements } from './options.ts'

export function decodeToolList(answer: Answer): OxpTool[] {
  const { status, body } = answer
  if (status !== 200) {
    const message = saidBy(body)
    if (message === undefined) throw notOxp(answer)
    const code = status === 401 || status === 403 ? 'UNAUTHORIZED' : status >= 500 ? 'SERVER_ERROR' : 'REFUSED'
    throw new OxpError(message, { code, outcome: 'refused', status })
  }
  const list = isJsonObject(body) ? (body.items ?? body.tools) : body
  if (!Array.isArray(list)) throw notOxp(answer)
  return list.map((tool, index) => decodeTool(tool, index, answer))
}

function decodeTool(tool: JsonValue, index: number, answer: Answer): OxpTool {
  const { id, name, description, version, input_schema: input, output_schema: output } = isJsonObject(tool) ? tool : {}
  if (typeof id !== 'string' || typeof name !== 'string') {
    throw notOxp(answer, `a list of tools whose entry ${index} has no "id" or no "name"`)
  }
  return {
    id,
    name,
    description: typeof description === 'string' ? description : name,
    version: typeof version === 'string' ? version : undefined,
    inputSchema: isJsonObject(input) ? unwrapped(input) : {},
    outputSchema: output === null ? null : isJsonObject(output) ? output : {},
    requirements: decodeRequirements(isJsonObject(tool) ? tool.requirements : undefined),
  }
}

/** OTC writes `{ "parameters": <JSON Schema> }`. No keyword of JSON Schema has this name. */
function unwrapped(schema: JsonObject): JsonObject {
  return isJsonObject(schema.parameters) && !('type' in schema) ? schema.parameters : schema
}

function decodeRequirements(requirements: JsonValue | undefined): OxpToolRequirements {
  const { authorization, secrets, user_id } = isJsonObject(requirements) ? requirements : {}
  return {
    authorization: entriesIn(authorization).map(({ id, oauth2 }) => ({
      id,
      scopes: isJsonObject(oauth2) && Array.isArray(oauth2.scopes) ? oauth2.scopes.filter(isText) : [],
    })),
    secrets: entriesIn(secrets).map(({ id }) => id),
    userId: user_id === true,
  }
}

function entriesIn(list: JsonValue | undefined): (JsonObject & { id: string })[] {
  if (!Array.isArray(list)) return []
  return list.filter((entry): entry is JsonObject & { id: string } => isJsonObject(entry) && isText(entry.id))
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === 'string'
}
