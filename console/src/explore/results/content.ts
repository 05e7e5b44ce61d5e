/** Recognizes a result that is content of a tool: MCP's, which the Tool Execution API has, too. */

export interface ContentItem {
  type: string
  text?: string
  data?: string
  mimeType?: string
  uri?: string
  name?: string
  resource?: { uri?: string; mimeType?: string; text?: string; blob?: string }
}

const MAX_JSON = 16_000_000
const FIELDS = ['content', 'structuredContent', 'isError', '_meta']

/** The items, if the result is content and nothing else. */
export function contentIn(json: string): ContentItem[] | undefined {
  if (json.length > MAX_JSON || !json.startsWith('{')) return undefined
  const value = JSON.parse(json) as Record<string, unknown>
  const { content } = value
  const isContent =
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((item) => typeof (item as ContentItem | null)?.type === 'string') &&
    Object.keys(value).every((key) => FIELDS.includes(key))
  return isContent ? (content as ContentItem[]) : undefined
}
