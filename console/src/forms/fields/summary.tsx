/** Everything that is wrong, in one list above the form: each entry leads to its place. */
import { Button } from '../../design/button.tsx'
import { Notice } from '../../design/feedback.tsx'
import { SeenText } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/forms.ts'
import type { Checked } from '../check/check-arguments.ts'
import { type JsonNode, memberOf, nodeAt, type Path, pointerOf } from '../text/nodes.ts'
import type { Parsed } from '../text/parse.ts'
import { short } from './field.tsx'
import type { Message } from './form-state.ts'

/** An error of the server's check. `path` is a JSON pointer into the arguments. */
export interface ServerFinding {
  readonly path: string
  readonly message: string
}

export interface Finding extends Message {
  /** Absent for a mistake in the JSON itself. */
  readonly path?: Path
  readonly start: number
  readonly end: number
}

const MAX_SHOWN = 8

/** Mistakes of the JSON first; as long as there are any, nothing else is known. */
export function findingsOf(parsed: Parsed, checked: Checked, server: readonly ServerFinding[] = []): Finding[] {
  if (parsed.mistakes.length > 0) {
    return parsed.mistakes.map(({ kind, start, end }) => ({
      severity: 'error',
      message: texts.mistakes[kind],
      start,
      end,
    }))
  }
  const own = checked.problems.map(({ path, keyword, wanted, severity }) => ({
    severity,
    path,
    message: texts.problems[keyword](wanted),
    ...placeOf(parsed.root, path),
  }))
  const theirs = server.map(({ path, message }) => {
    const steps = stepsOf(parsed.root, path)
    return { severity: 'error' as const, path: steps, message, ...placeOf(parsed.root, steps) }
  })
  // The page and the server mostly find the same: one message for each place is enough.
  const known = new Set(own.filter(({ severity }) => severity === 'error').map(({ path }) => JSON.stringify(path)))
  return [...own, ...theirs.filter(({ path }) => !known.has(JSON.stringify(path)))]
}

export function findingsByPath(
  parsed: Parsed,
  checked: Checked,
  server?: readonly ServerFinding[],
): Map<string, Message[]> {
  const byPath = new Map<string, Message[]>()
  for (const { path, message, severity } of findingsOf(parsed, checked, server)) {
    const key = JSON.stringify(path)
    byPath.set(key, [...(byPath.get(key) ?? []), { message, severity }])
  }
  return byPath
}

/** The place of a value, or for a missing one the bracket of its object. */
function placeOf(root: JsonNode | undefined, path: Path): { start: number; end: number } {
  const parent = nodeAt(root, path.slice(0, -1))
  const step = path.at(-1)
  const member = parent?.kind === 'object' && typeof step === 'string' ? memberOf(parent, step) : undefined
  if (member) return { start: member.keyStart, end: member.value?.end ?? member.keyEnd }
  const node = nodeAt(root, path)
  if (node) return path.length === 0 ? { start: node.start, end: node.start + 1 } : { start: node.start, end: node.end }
  return parent ? { start: parent.start, end: parent.start + 1 } : { start: 0, end: 0 }
}

/** A pointer does not tell indices from names; the value does. */
function stepsOf(root: JsonNode | undefined, pointer: string): Path {
  const steps: (string | number)[] = []
  for (const part of pointer.split('/').slice(1)) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    steps.push(nodeAt(root, steps)?.kind === 'array' && /^\d+$/.test(name) ? Number(name) : name)
  }
  return steps
}

interface Props {
  parsed: Parsed
  findings: readonly Finding[]
  incomplete: boolean
  onShow(finding: Finding): void
}

export function Summary({ parsed, findings, incomplete, onShow }: Props) {
  const errors = findings.filter((finding) => finding.severity === 'error').length
  return (
    <div class="form-summary" role="status">
      {findings.length > 0 && (
        <Notice tone={errors > 0 ? 'bad' : 'warn'}>
          {errors > 0 && <p>{texts.summary(errors)}</p>}
          <ul>
            {findings.slice(0, MAX_SHOWN).map((finding) => (
              <li key={`${finding.start} ${finding.message}`}>
                <Button tone="plain" size="small" onClick={() => onShow(finding)}>
                  <span>
                    <SeenText text={nameOf(parsed, finding)} />
                  </span>
                </Button>
              </li>
            ))}
          </ul>
          {findings.length > MAX_SHOWN && <p>{texts.more(findings.length - MAX_SHOWN)}</p>}
        </Notice>
      )}
      {incomplete && <p class="hint">{texts.incomplete}</p>}
    </div>
  )
}

function nameOf({ text }: Parsed, { path, message, start }: Finding): string {
  if (path) return `${path.length === 0 ? texts.whole : short(pointerOf(path).slice(1))}: ${message}`
  const before = text.slice(0, start)
  return texts.mistakeAt(before.split('\n').length, start - before.lastIndexOf('\n'), message)
}
