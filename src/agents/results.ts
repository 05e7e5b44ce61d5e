/** Splits a tool's result for the messages of each provider: text, the value, and files. */

import { isTextual } from '../core/call/media.ts'
import type { Fault } from '../core/fault.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../core/json.ts'
import { textForModel } from '../wire/model-text.ts'

export interface ToolResult {
  isError: boolean
  /** The text for the model. */
  text: string
  /** The operation's result, if it is a JSON value. */
  value?: JsonValue
  /** Images and audio. */
  files: readonly ResultFile[]
}

export interface ResultFile {
  mimeType: string
  /** Base64. */
  data: string
}

/** Reads a text that the server stores, by its URI. `undefined` if it cannot be read. */
export type ReadText = (uri: string) => Promise<string | undefined>

/** How much of a text file is shown, in characters: about as much as a model can read. */
const MAX_FILE_TEXT = 100_000
/** The URI prefix of results that the server stores as files. */
const KEPT = 'callplane://results/'

export function failed(fault: Fault): ToolResult {
  return { isError: true, text: textForModel(fault), files: [] }
}

export async function decodeResult(result: JsonObject, readText: ReadText): Promise<ToolResult> {
  const { content, structuredContent, isError } = result
  const texts: string[] = []
  const files: ResultFile[] = []
  for (const item of Array.isArray(content) ? content.filter(isJsonObject) : []) {
    const { type, mimeType, data } = item
    const isFile = (type === 'image' || type === 'audio') && typeof mimeType === 'string' && typeof data === 'string'
    if (isFile) files.push({ mimeType, data })
    else texts.push(await textOf(item, readText))
  }
  return {
    isError: isError === true,
    text: texts.join('\n'),
    ...(structuredContent !== undefined && { value: structuredContent }),
    files,
  }
}

/** The text, and a line for each file that does not fit the provider's message. */
export function textWithout({ text }: ToolResult, unshown: readonly ResultFile[]): string {
  const notes = unshown.map(({ mimeType }) => `[A file of type ${mimeType}, which cannot be shown here.]`)
  return [...(text === '' ? [] : [text]), ...notes].join('\n')
}

/** For messages that show images as `data:` addresses: the text with a note for each other file, and the images. */
export function splitImages(result: ToolResult): { text: string; images: string[] } {
  // Types that the models of OpenAI accept.
  const isImage = ({ mimeType }: ResultFile) => /^image\/(?:png|jpeg|gif|webp)$/.test(mimeType)
  return {
    text: textWithout(
      result,
      result.files.filter((file) => !isImage(file)),
    ),
    images: result.files.filter(isImage).map(({ mimeType, data }) => `data:${mimeType};base64,${data}`),
  }
}

async function textOf(item: JsonObject, readText: ReadText): Promise<string> {
  const { type, text, resource } = item
  if (type === 'text' && typeof text === 'string') return text
  if (type === 'resource' && isJsonObject(resource)) {
    return typeof resource.text === 'string' ? shortened(resource.text) : unshownFile(resource)
  }
  if (type !== 'resource_link' || typeof item.uri !== 'string') return `[Content of type ${String(type)}.]`
  if (!item.uri.startsWith(KEPT)) return `The result is at ${item.uri}`
  const isText = typeof item.mimeType === 'string' && isTextual(item.mimeType)
  const read = isText ? await readText(item.uri) : undefined
  return read === undefined ? unshownFile(item) : shortened(read)
}

function shortened(text: string): string {
  if (text.length <= MAX_FILE_TEXT) return text
  return `${text.slice(0, MAX_FILE_TEXT)}\n[The first ${MAX_FILE_TEXT} of ${text.length} characters.]`
}

function unshownFile({ mimeType = 'application/octet-stream', uri }: JsonObject): string {
  return `The result is a file of type ${String(mimeType)}, which cannot be shown here: ${String(uri)}`
}
