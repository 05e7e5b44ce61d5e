/** Copies a text. The button says when it has. */
import { useState } from 'preact/hooks'
import { usePage } from '../shell/page.ts'
import { texts } from '../texts/en/design.ts'
import { IconButton } from './button.tsx'

export function Copy({ text, label = texts.copy }: { text: string; label?: string }) {
  const { announce } = usePage()
  const [isCopied, setCopied] = useState(false)
  return (
    <IconButton
      icon={isCopied ? 'check' : 'copy'}
      label={isCopied ? texts.copied : label}
      size="small"
      onClick={async (event) => {
        event.stopPropagation()
        await navigator.clipboard.writeText(text)
        setCopied(true)
        announce(texts.copied)
      }}
      onBlur={() => setCopied(false)}
    />
  )
}
