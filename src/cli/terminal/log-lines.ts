/** Formats the log for people: one short line for each JSON line, with colours if wanted. */
import { styleText } from 'node:util'
import type { CommandIo, Output } from '../command.ts'
import { plainLine, plainText } from './text.ts'

type Line = Record<string, unknown> & { time?: string; level?: string; msg?: string }
type Colour = Parameters<typeof styleText>[0]

const COLOURS: Readonly<Record<string, Colour>> = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' }

export interface LineStyle {
  colours: boolean
}

/** Takes whole lines of JSON, as the log writes them. */
export function createReadableLog(output: Output, style: LineStyle): { write(line: string): void } {
  return { write: (line) => void output.write(`${formatLine(line, style)}\n`) }
}

/** Returns the readable log for a terminal. */
export function chooseLogOutput({ stdout, env }: Pick<CommandIo, 'stdout' | 'env'>) {
  return stdout.isTTY ? createReadableLog(stdout, { colours: wantsColours(stdout, env) }) : stdout
}

/** https://no-color.org: any value that is not empty counts. */
export function wantsColours(output: Output, env: Record<string, string | undefined>): boolean {
  return output.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
}

export function formatLine(text: string, { colours }: LineStyle): string {
  const paint = (colour: Colour, part: string) => (colours ? styleText(colour, part, { validateStream: false }) : part)
  const { time = '', level = 'info', msg = '', err, ...fields } = JSON.parse(text) as Line
  const head = `${paint('gray', clockTime(time))} ${paint(COLOURS[level] ?? 'white', plainLine(level).padEnd(5))}`
  const body = msg === 'request' ? requestText(fields) : [msg, ...Object.entries(fields).map(fieldText)].join(' ')
  // Callers choose paths, and handlers log input from callers.
  return [`${head} ${plainLine(body)}`, ...errorLines(err)].join('\n')
}

function clockTime(time: string): string {
  const at = new Date(time)
  return Number.isNaN(at.getTime()) ? '--:--:--' : at.toTimeString().slice(0, 8)
}

function requestText({ method, path, status, durationMs, aborted }: Line): string {
  return `${method} ${path} ${status} ${durationMs} ms${aborted === true ? ' (the client disconnected)' : ''}`
}

function fieldText([name, value]: [string, unknown]): string {
  return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`
}

function errorLines(err: unknown): string[] {
  if (err === undefined) return []
  const stack = typeof err === 'object' && err !== null && 'stack' in err ? err.stack : err
  const text = typeof stack === 'string' ? stack : JSON.stringify(stack)
  return plainText(text)
    .split('\n')
    .map((line) => `         ${line}`)
}
