/** Makes text from outside safe to print: control characters could move the cursor or overwrite earlier output. */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '?')
}

/** Like `plainText`, on one line: a line break in the text must not look like the next line of output. */
export function plainLine(text: string): string {
  return plainText(text.replace(/\r?\n|\r/g, '\\n').replaceAll('\t', '\\t'))
}

/** One line, cut to the width, with an ellipsis if something was cut. */
export function fitted(text: string, width: number): string {
  const line = plainText(text).replace(/[\t\n]/g, ' ')
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}
