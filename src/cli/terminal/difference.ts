/** Where two texts differ first and last, as one short hunk of a unified diff. */

const MOST_LINES = 5

export function unifiedDifference(before: string, after: string, name: string): string {
  const [was, is] = [before.split('\n'), after.split('\n')]
  const most = Math.min(was.length, is.length)
  let start = 0
  while (start < most && was[start] === is[start]) start++
  let end = 0
  while (end < most - start && was.at(-1 - end) === is.at(-1 - end)) end++
  const [removed, added] = [was.slice(start, was.length - end), is.slice(start, is.length - end)]
  return [
    `--- ${name}`,
    '+++ generated',
    `@@ -${start + 1},${removed.length} +${start + 1},${added.length} @@`,
    ...shown(removed, '-'),
    ...shown(added, '+'),
  ].join('\n')
}

function shown(lines: readonly string[], mark: string): string[] {
  const first = lines.slice(0, MOST_LINES).map((line) => mark + line)
  return lines.length > MOST_LINES ? [...first, `${mark} … ${lines.length - MOST_LINES} more lines`] : first
}
