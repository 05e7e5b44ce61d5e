/** Chooses between a table for a person and JSON lines for a program, and prints the latter. */
import { type CommandIo, type Output, print } from '../command.ts'
import { jsonText } from './text.ts'

export const LINES_OPTION = { json: { type: 'boolean', default: false } } as const

export const LINES_HELP = '  --json                 Prints JSON lines on a terminal as well.'

export function wantsLines({ stdout }: Pick<CommandIo, 'stdout'>, { json }: { json: boolean }): boolean {
  return json || !stdout.isTTY
}

export function printLines(output: Output, values: readonly unknown[]): void {
  for (const value of values) print(output, jsonText(value))
}
