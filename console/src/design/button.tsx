/** Buttons, and links that look like buttons. */
import type { ComponentChildren, JSX } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface Look {
  tone?: 'primary' | 'plain' | 'danger' | 'danger primary' | undefined
  size?: 'small' | 'large' | undefined
  icon?: IconName | undefined
}

type ButtonProps = Look & { children: ComponentChildren } & JSX.IntrinsicElements['button']

export function Button({ tone, size, icon, children, class: more, ...rest }: ButtonProps) {
  return (
    <button type="button" class={classes('button', tone, size, more as string | undefined)} {...rest}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** Only an icon: the label is read aloud and shown as a tooltip. */
export function IconButton({
  icon,
  label,
  tone = 'plain',
  size,
  ...rest
}: { icon: IconName; label: string; tone?: Look['tone']; size?: 'small' } & Omit<
  JSX.IntrinsicElements['button'],
  'icon' | 'label' | 'size'
>) {
  return (
    <button type="button" class={classes('button icon', tone, size)} aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  )
}

export function LinkButton({ tone, size, icon, href, children }: Look & { href: string; children: ComponentChildren }) {
  return (
    <a class={classes('button', tone, size)} href={href}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  )
}

export function classes(...names: (string | false | undefined)[]): string {
  return names.filter(Boolean).join(' ')
}
