/**
 * Reads the XML of S3 responses: elements and text. Attributes are skipped. Document types, entities of a document and
 * CDATA are refused, so nothing expands. Size, depth and the number of elements are bounded.
 */
import { Fault } from '../../../core/fault.ts'

export interface XmlElement {
  name: string
  /** The text directly in this element. */
  text: string
  children: XmlElement[]
}

const MAX_DEPTH = 10
const MAX_ELEMENTS = 50_000

/** A declaration, an end tag, a start or empty tag, or text. */
const TOKEN = /<\?[^<>]*\?>|<\/([\w:.-]+)\s*>|<([\w:.-]+)(\s[^<>]*?)?(\/?)>|([^<]+)/y

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

/** A document whose element has this name. */
export function parseXml(text: string, name: string): XmlElement {
  const document = parseDocument(text)
  if (document.name !== name) throw notXml(`"${document.name.slice(0, 50)}" instead of "${name}"`)
  return document
}

function parseDocument(text: string): XmlElement {
  const root: XmlElement = { name: '', text: '', children: [] }
  const open = [root]
  let elements = 0
  let at = 0
  while (at < text.length) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (!match) throw notXml('an unknown construct')
    at = TOKEN.lastIndex
    const [, end, start, , empty, content] = match
    const top = open.at(-1) as XmlElement
    if (content !== undefined) top.text += decodeText(content)
    if (end !== undefined) {
      if (open.length === 1 || top.name !== end) throw notXml('tags that do not match')
      open.pop()
    }
    if (start !== undefined) {
      if (++elements > MAX_ELEMENTS || open.length > MAX_DEPTH) throw notXml('too many elements')
      const element: XmlElement = { name: start, text: '', children: [] }
      top.children.push(element)
      if (empty === '') open.push(element)
    }
  }
  const [document] = root.children
  if (open.length > 1 || !document || root.children.length > 1 || root.text.trim() !== '')
    throw notXml('a cut document')
  return document
}

/** The text of the first child with this name. Empty if there is none. */
export function textOf(element: XmlElement, name: string): string {
  return element.children.find((child) => child.name === name)?.text ?? ''
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child) => child.name === name)
}

export function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function decodeText(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(\w{1,8}));|&/g, (_all, decimal, hex, name) => {
    const known = ENTITIES[name]
    if (known !== undefined) return known
    const code = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : Number.NaN
    if (!(code <= 0x10ffff)) throw notXml('an entity')
    return String.fromCodePoint(code)
  })
}

function notXml(what: string): Fault {
  return new Fault('unavailable', 'The object storage sent a response that cannot be read; try again later.', {
    code: 'STORAGE_REFUSED',
    ofStorage: true,
    cause: new Error(`The response of S3 has ${what}. Check that the endpoint is an S3 server.`),
  })
}
