/** Tabs that are links: each is a state of the page with an address of its own. */

export interface Tab {
  name: string
  label: string
  href: string
}

export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === current ? 'page' : undefined}>
          {tab.label}
        </a>
      ))}
    </nav>
  )
}

/** A choice of a few that changes the view at once. */
export function Segments<Name extends string>({
  options,
  value,
  onChange,
  label,
}: {
  options: readonly { name: Name; label: string }[]
  value: Name
  onChange(name: Name): void
  label: string
}) {
  return (
    <fieldset class="segments" aria-label={label}>
      {options.map((option) => (
        <button
          type="button"
          key={option.name}
          aria-pressed={option.name === value}
          onClick={() => onChange(option.name)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}
