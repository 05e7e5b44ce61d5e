/** Shared parts of the drawings: a page with a title, text that stays text, and colours for light and dark themes. */

const WIDTH = 800

const STYLE = `
  .ground { fill: #ffffff } text { fill: #24292f; font: 13px system-ui, sans-serif }
  .title { font-size: 16px; font-weight: 600 } .quiet { fill: #57606a }`

const DARK_STYLE = '.ground { fill: #0d1117 } text { fill: #e6edf3 } .quiet { fill: #9198a1 }'

export interface Page {
  title: string
  subtitle: string
  height: number
  /** The drawing's own style rules, and those for the dark theme. */
  style: string
  darkStyle: string
}

export function drawPage({ title, subtitle, height, style, darkStyle }: Page, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escapeText(title)}</title>`,
    `<style>${STYLE}${style}\n  @media (prefers-color-scheme: dark) {\n    ${DARK_STYLE}${darkStyle}\n  }\n</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>`,
    drawText(16, 28, title, 'title'),
    drawText(16, 48, subtitle, 'quiet'),
    ...parts,
    '</svg>\n',
  ].join('\n')
}

export function drawText(x: number, y: number, said: string, kind?: string): string {
  return `<text x="${tenths(x)}" y="${tenths(y)}"${kind === undefined ? '' : ` class="${kind}"`}>${escapeText(said)}</text>`
}

export function tenths(value: number): number {
  return Math.round(value * 10) / 10
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

function escapeText(said: string): string {
  return said.replace(/[&<>]/g, (character) => ESCAPES[character] ?? character)
}
