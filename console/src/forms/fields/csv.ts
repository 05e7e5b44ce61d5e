/** Rows of a spreadsheet, as the clipboard has them: separated by tabs, else by commas with quotes. */

export function parseRows(text: string): string[][] {
  const separator = text.includes('\t') ? '\t' : ','
  const rows: string[][] = [[]]
  let cell = ''
  let isQuoted = false
  const endCell = () => {
    rows.at(-1)?.push(cell)
    cell = ''
  }
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string
    if (isQuoted) {
      if (char !== '"') cell += char
      else if (text[at + 1] === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (char === '"' && cell === '') isQuoted = true
    else if (char === separator) endCell()
    else if (char === '\n') {
      endCell()
      rows.push([])
    } else if (char !== '\r') cell += char
  }
  if (cell !== '' || (rows.at(-1)?.length ?? 0) > 0) endCell()
  return rows.filter((row) => row.length > 0)
}
