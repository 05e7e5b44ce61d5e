/**
 * Markdown as a tree of plain nodes. HTML in it stays text, and an image is only its words: nothing of a document can
 * run, or load anything.
 */

export type Inline =
  | string
  | { kind: 'strong' | 'em'; children: Inline[] }
  | { kind: 'code'; text: string }
  | { kind: 'link'; href: string; children: Inline[] }
  | { kind: 'image'; alt: string; src: string }

export type Block =
  | { kind: 'heading'; level: number; children: Inline[] }
  | { kind: 'paragraph'; children: Inline[] }
  | { kind: 'code'; text: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; ordered: boolean; items: Block[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'rule' }

const MAX_DEPTH = 12
/** Of a line that can be a heading, a rule or a head of a table. The patterns look at white space twice. */
const MAX_LINE = 2_000

export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.replaceAll('\r\n', '\n').split('\n'), 0)
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])\s+/
const QUOTE = /^ {0,3}> ?/
const TABLE_LINE = /^ {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/

function blocksOf(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  let at = 0
  while (at < lines.length) {
    const line = lines[at] as string
    if (line.trim() === '') {
      at++
      continue
    }
    const fence = FENCE.exec(line)?.[1]
    const heading = matchOf(HEADING, line)
    if (fence !== undefined) {
      const stop = endWhere(lines, at + 1, (other) => other.trim().startsWith(fence))
      blocks.push({ kind: 'code', text: lines.slice(at + 1, stop).join('\n') })
      at = stop + 1
    } else if (heading) {
      blocks.push({ kind: 'heading', level: heading[1]?.length ?? 1, children: inlinesOf(heading[2] ?? '', 0) })
      at++
    } else if (matchOf(RULE, line)) {
      blocks.push({ kind: 'rule' })
      at++
    } else if (QUOTE.test(line) && depth < MAX_DEPTH) {
      const end = endWhere(lines, at, (other) => !QUOTE.test(other))
      blocks.push({
        kind: 'quote',
        blocks: blocksOf(
          lines.slice(at, end).map((other) => other.replace(QUOTE, '')),
          depth + 1,
        ),
      })
      at = end
    } else if (ITEM.test(line) && depth < MAX_DEPTH) {
      const end = endWhere(
        lines,
        at,
        (other, before) => !ITEM.test(other) && !/^\s{2,}\S/.test(other) && before.trim() === '',
      )
      blocks.push(listOf(lines.slice(at, end), depth))
      at = end
    } else if (line.includes('|') && matchOf(TABLE_LINE, lines[at + 1] ?? '')) {
      const end = endWhere(lines, at + 2, (other) => !other.includes('|'))
      const rows = lines.slice(at + 2, end).map(cellsOf)
      blocks.push({ kind: 'table', head: cellsOf(line), rows })
      at = end
    } else {
      const end = endWhere(lines, at + 1, startsBlock)
      blocks.push({ kind: 'paragraph', children: inlinesOf(lines.slice(at, end).join('\n'), 0) })
      at = end
    }
  }
  return blocks
}

function startsBlock(line: string): boolean {
  return line.trim() === '' || FENCE.test(line) || !!matchOf(HEADING, line) || QUOTE.test(line) || ITEM.test(line)
}

function matchOf(pattern: RegExp, line: string): RegExpExecArray | null {
  return line.length <= MAX_LINE ? pattern.exec(line) : null
}

function endWhere(lines: readonly string[], start: number, ends: (line: string, before: string) => boolean): number {
  let at = start
  while (at < lines.length && !ends(lines[at] as string, lines[at - 1] ?? '')) at++
  return at
}

function listOf(lines: readonly string[], depth: number): Block {
  const items: string[][] = []
  const base = ITEM.exec(lines[0] ?? '')?.[1]?.length ?? 0
  for (const line of lines) {
    const found = ITEM.exec(line)
    // An item that is further in belongs to a list within this item.
    if (found && (found[1]?.length ?? 0) <= base + 1) items.push([line.slice(found[0].length)])
    else items.at(-1)?.push(line.replace(/^\s{1,4}/, ''))
  }
  const ordered = /^\s*\d/.test(lines[0] ?? '')
  return { kind: 'list', ordered, items: items.map((item) => blocksOf(item, depth + 1)) }
}

function cellsOf(line: string): Inline[][] {
  const inner = line.trim().replace(/^\||\|$/g, '')
  return inner.split('|').map((cell) => inlinesOf(cell.trim(), 0))
}

/** Every part has a greatest length: what follows a mark that nothing closes is looked at for each such mark. */
const INLINE =
  /(?<ticks>`{1,5})(?<code>[\s\S]{0,500}?[^`])\k<ticks>(?!`)|(?<bang>!?)\[(?<label>[^\]]{0,300})\]\((?<url>[^()\s]{0,2000})(?:\s{1,20}"[^"]{0,300}")?\)|(?<mark>\*\*|__|\*|_)(?=\S)(?<inner>[\s\S]{0,500}?\S)\k<mark>/

function inlinesOf(text: string, depth: number): Inline[] {
  const parts: Inline[] = []
  let rest = text
  while (rest !== '') {
    const found = depth < MAX_DEPTH ? INLINE.exec(rest) : null
    if (!found) break
    if (found.index > 0) parts.push(rest.slice(0, found.index))
    parts.push(inlineOf(found.groups ?? {}, depth))
    rest = rest.slice(found.index + found[0].length)
  }
  if (rest !== '') parts.push(rest)
  return parts
}

function inlineOf({ code, bang, label, url, mark, inner }: Record<string, string | undefined>, depth: number): Inline {
  if (code !== undefined) return { kind: 'code', text: code }
  if (label !== undefined && bang) return { kind: 'image', alt: label, src: url ?? '' }
  if (label !== undefined) {
    const children = inlinesOf(label, depth + 1)
    return isSafe(url ?? '') ? { kind: 'link', href: url ?? '', children } : { kind: 'em', children }
  }
  return { kind: mark?.length === 2 ? 'strong' : 'em', children: inlinesOf(inner ?? '', depth + 1) }
}

/** An address of another site that a person may open. Addresses of this page could be mistaken for the page's own. */
function isSafe(url: string): boolean {
  return /^(?:https?:\/\/|mailto:)/i.test(url)
}
