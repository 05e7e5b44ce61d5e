/**
 * Text of other people. Characters that a reader cannot see, or that change the order of others, are shown by their
 * code. Everything is a text node, so markup is inert.
 */
import type { ComponentChildren } from 'preact'
import { texts } from '../texts/en/design.ts'

// Controls, formats, blanks that look like a space, and what fonts draw as nothing. U+FE0F is part of common emoji.
const UNSEEN = /[[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]--[\t\n\u0020\uFE0F]]/v

export function hasUnseen(text: string): boolean {
  return UNSEEN.test(text)
}

export function SeenText({ text }: { text: string }) {
  return <>{seenParts(text)}</>
}

export function seenParts(text: string): ComponentChildren {
  if (!UNSEEN.test(text)) return text
  const parts: ComponentChildren[] = []
  let plain = ''
  for (const character of text) {
    if (!UNSEEN.test(character)) {
      plain += character
      continue
    }
    if (plain) parts.push(plain)
    plain = ''
    const name = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
    parts.push(
      <span class="unseen" title={texts.unseen(name)}>
        {name}
      </span>,
    )
  }
  return plain ? [...parts, plain] : parts
}
