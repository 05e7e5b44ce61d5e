/** Markdown as elements. Every text is a text node, and nothing is loaded. */
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { seenParts } from '../../design/seen-text.tsx'
import { Wide } from '../../design/wide.tsx'
import { texts } from '../../texts/en/explore.ts'
import { type Block, type Inline, parseMarkdown } from './markdown.ts'

export function MarkdownView({ text }: { text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text])
  return <div class="markdown">{blocks.map(drawBlock)}</div>
}

const HEADINGS = ['h3', 'h4', 'h5', 'h6', 'h6', 'h6'] as const

function drawBlock(block: Block): ComponentChildren {
  switch (block.kind) {
    case 'heading': {
      const Heading = HEADINGS[block.level - 1] ?? 'h6'
      return <Heading>{block.children.map(drawInline)}</Heading>
    }
    case 'paragraph':
      return <p>{block.children.map(drawInline)}</p>
    case 'code':
      return <pre>{seenParts(block.text)}</pre>
    case 'quote':
      return <blockquote>{block.blocks.map(drawBlock)}</blockquote>
    case 'list': {
      const List = block.ordered ? 'ol' : 'ul'
      return (
        <List>
          {block.items.map((item) => (
            <li>{item.map(drawBlock)}</li>
          ))}
        </List>
      )
    }
    case 'table':
      return (
        <Wide label={texts.views.table}>
          <table class="table">
            <thead>
              <tr>
                {block.head.map((cell) => (
                  <th>{cell.map(drawInline)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row) => (
                <tr>
                  {row.map((cell) => (
                    <td>{cell.map(drawInline)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )
    case 'rule':
      return <hr />
  }
}

function drawInline(inline: Inline): ComponentChildren {
  if (typeof inline === 'string') return seenParts(inline)
  switch (inline.kind) {
    case 'strong':
      return <strong>{inline.children.map(drawInline)}</strong>
    case 'em':
      return <em>{inline.children.map(drawInline)}</em>
    case 'code':
      return <code>{seenParts(inline.text)}</code>
    case 'image':
      return <span class="chip">{texts.remoteImage(inline.alt || inline.src)}</span>
    case 'link':
      return (
        <a href={inline.href} target="_blank" rel="noopener noreferrer" title={inline.href}>
          {inline.children.map(drawInline)}
        </a>
      )
  }
}
