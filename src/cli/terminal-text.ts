/** Text from elsewhere, made safe to show: control characters could move the cursor or rewrite what was said before. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?')
}

/** Cut to what fits, with an ellipsis where something is missing. */
export function fitted(text: string, width: number): string {
  const line = plainText(text).replace(/\s+/g, ' ')
  if (line.length <= width) return line
  return width < 1 ? '' : `${line.slice(0, width - 1)}…`
}
