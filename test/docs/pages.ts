/** The Markdown pages of the repository, their links, their anchors and their code blocks. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

export interface Link {
  /** The target as written: `../guides/policy.md#what`. */
  readonly written: string
  /** The path from the root of the repository, without a trailing slash. */
  readonly path: string
  readonly anchor: string | undefined
}

export interface Block {
  readonly page: string
  /** Line number of the opening fence. */
  readonly line: number
  readonly language: string
  readonly code: string
  /** The text of the HTML comment directly above the block, if there is one. */
  readonly note: string | undefined
}

/** Fixtures, and pages of projects that are made by create-callplane: their commands exist there only. */
const ELSEWHERE = /^(?:test|create-callplane\/template)\//

/** Every page under version control, and new ones that are not ignored. */
export function listPages(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: ROOT })
  return [...new Set(listed.toString().split('\n'))].filter((path) => path !== '' && !ELSEWHERE.test(path)).sort()
}

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** Links to places in the repository, without those inside code. */
export function linksIn(page: string, text: string): Link[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`(?!\])/g, '')
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target)
  return targets
    .filter((target) => !/^(https?:|mailto:)/.test(target))
    .map((written) => {
      const [path = '', anchor] = written.split('#', 2)
      const full = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '')
      return { written, path: full, anchor }
    })
}

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsIn(text: string): Set<string> {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '')
  const seen = new Map<string, number>()
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

export function blocksIn(page: string, text: string): Block[] {
  const blocks: Block[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const opened = /^```(\S*)/.exec(lines[at] ?? '')
    if (!opened) continue
    const end = lines.findIndex((line, index) => index > at && line.startsWith('```'))
    if (end === -1) throw new Error(`${page}:${at + 1} opens a code block that never ends.`)
    const code = `${lines.slice(at + 1, end).join('\n')}\n`
    blocks.push({ page, line: at + 1, language: opened[1] ?? '', code, note: noteAbove(lines, at) })
    at = end
  }
  return blocks
}

/** `<!-- … -->` on one line, with at most one empty line between it and the block. */
function noteAbove(lines: readonly string[], at: number): string | undefined {
  const above = lines[at - 1]?.trim() === '' ? lines[at - 2] : lines[at - 1]
  return /^<!--\s*(.*?)\s*-->$/.exec(above?.trim() ?? '')?.[1]
}
