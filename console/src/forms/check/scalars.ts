/** The keywords about one value by itself: its type, its limits, its format. */
import type { SchemaObject } from '../schema/document.ts'
import { decodeString, type JsonNode } from '../text/nodes.ts'
import { compareNumbers, isMultiple, isWhole } from '../text/numbers.ts'
import type { Report } from './checker.ts'
import { canonicalNode, canonicalValue } from './equal.ts'
import type { SchemaFacts } from './facts.ts'
import { isOfFormat } from './formats.ts'

/** False if something could not be checked here. */
export function checkScalar(schema: SchemaObject, node: JsonNode, report: Report, facts: SchemaFacts): boolean {
  if (schema.type !== undefined && !typesOf(schema.type).some((type) => isOfType(node, type))) {
    report('type', typesOf(schema.type))
  }
  if (Array.isArray(schema.enum) && !facts.allowedBy(schema.enum).has(canonicalNode(node))) report('enum', schema.enum)
  if (Object.hasOwn(schema, 'const') && canonicalNode(node) !== canonicalValue(schema.const))
    report('const', schema.const)
  if (node.kind === 'number') return checkNumber(schema, node.raw, report)
  return node.kind === 'string' ? checkString(schema, decodeString(node.raw), report, facts) : true
}

export function typesOf(type: unknown): string[] {
  return (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string')
}

function isOfType(node: JsonNode, type: string): boolean {
  return node.kind === type || (type === 'integer' && node.kind === 'number' && isWhole(node.raw))
}

function checkNumber(schema: SchemaObject, raw: string, report: Report): boolean {
  const against = (limit: unknown): number | undefined =>
    typeof limit === 'number' ? compareNumbers(raw, textOf(limit)) : undefined
  if ((against(schema.maximum) ?? 0) > 0) report('maximum', schema.maximum)
  if ((against(schema.minimum) ?? 0) < 0) report('minimum', schema.minimum)
  if ((against(schema.exclusiveMaximum) ?? -1) >= 0) report('exclusiveMaximum', schema.exclusiveMaximum)
  if ((against(schema.exclusiveMinimum) ?? 1) <= 0) report('exclusiveMinimum', schema.exclusiveMinimum)
  if (typeof schema.multipleOf !== 'number' || schema.multipleOf <= 0) return true
  const multiple = isMultiple(raw, textOf(schema.multipleOf))
  if (multiple === false) report('multipleOf', schema.multipleOf)
  return multiple !== undefined
}

function textOf(number: number): string {
  return String(number).replace('e+', 'e')
}

function checkString(schema: SchemaObject, text: string, report: Report, facts: SchemaFacts): boolean {
  const { maxLength, minLength, pattern, format } = schema
  // A string has at most as many characters as code units, and at least half as many.
  if (typeof maxLength === 'number' && text.length > maxLength && lengthOf(text) > maxLength)
    report('maxLength', maxLength)
  if (typeof minLength === 'number' && text.length < minLength * 2 && lengthOf(text) < minLength)
    report('minLength', minLength)
  if (typeof format === 'string' && !isOfFormat(format, text)) report('format', format)
  if (typeof pattern !== 'string') return true
  const matches = facts.matches(pattern, text)
  if (matches === false) report('pattern', pattern)
  return matches !== undefined
}

/** The number of code points, which is what the standard counts. */
export function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length++
  return length
}
