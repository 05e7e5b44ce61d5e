/** Text as a literal of a language. No character of a value can end the literal or change its direction. */
import { UNSEEN } from '../unseen.ts'

/** The same JSON, on one line, with unseen characters as escapes. They occur in strings only. */
export function plainJson(json: string): string {
  return escapeUnseen(json.replaceAll(/[\r\n\t]+ */g, ' ').trim())
}

export function escapeUnseen(json: string): string {
  return json.replaceAll(UNSEEN, (found) =>
    Array.from({ length: found.length }, (_, at) => unicode(found.charCodeAt(at))).join(''),
  )
}

function unicode(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}

/** For a POSIX shell. */
export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A raw string of Python with JSON in it. JSON ends with no quote and no backslash of its own. */
export function pythonJson(json: string): string {
  return `r'''${json.replaceAll("'", '\\u0027')}'''`
}

/** A raw string of Go with JSON in it. */
export function goJson(json: string): string {
  return `\`${json.replaceAll('`', '\\u0060')}\``
}

/** A string of Python, Go, JavaScript. Escapes of characters beyond the basic plane differ, so those stay as they are. */
export function quoted(text: string): string {
  return escapeUnseen(JSON.stringify(text))
}
