/**
 * Makes text from outside safe to print. Control characters could move the cursor or overwrite earlier output. Marks
 * that change the direction of text could make a line read as another one.
 */
export function plainText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?')
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

/** Characters that JSON has unescaped, and that act on a terminal or cannot be seen. */
const UNSEEN = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** JSON that is safe to print: the same value, with such characters escaped. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    UNSEEN,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
