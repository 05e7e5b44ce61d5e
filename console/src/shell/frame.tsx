/** The frame around every screen: rail, bar, and the screen of the current place. */
import { useEffect, useId, useRef } from 'preact/hooks'
import { classes } from '../design/button.tsx'
import { Empty } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { href, type RouteName } from '../routes.ts'
import { SCREENS } from '../screens.tsx'
import { texts } from '../texts/en/shell.ts'
import { Boundary } from './boundary.tsx'
import { type Entry, entriesFor, missingScope, type Section, sectionOf } from './entries.ts'
import { usePage, useWho } from './page.ts'
import { PersonMenu } from './person-menu.tsx'

interface FrameProps {
  /** Numbers beside entries of the rail, such as the approvals that wait. */
  badges: Partial<Record<Section, number>>
  openPalette(): void
}

export function Frame({ badges, openPalette }: FrameProps) {
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={skipToContent}>
        {texts.skip}
      </button>
      <Rail badges={badges} />
      <header class="bar">
        <a class="brand" href={href('explore')} aria-label={texts.product}>
          <Mark />
          <span>{texts.product}</span>
        </a>
        <button type="button" class="find" onClick={openPalette}>
          <Icon name="search" />
          <span>{texts.search}</span>
          <kbd>{modKey()} K</kbd>
        </button>
        <ModeChip />
        <PersonMenu />
      </header>
      <CurrentScreen />
    </div>
  )
}

/** Entries that a phone's bar has room for; the others are behind "More". */
const ON_PHONE = 4

function Rail({ badges }: Pick<FrameProps, 'badges'>) {
  const { router } = usePage()
  const who = useWho()
  const id = useId()
  const here = router.place.value
  const current = here && sectionOf(here.name)
  const entries = entriesFor(who)
  const fitsPhone = entries.length <= ON_PHONE + 1
  const extra = fitsPhone ? [] : entries.slice(ON_PHONE)
  const link = ({ section, icon }: Entry) => (
    <a href={href(section)} aria-current={section === current ? 'page' : undefined} title={texts.screens[section]}>
      <Icon name={icon} size={18} />
      <span class="name">{texts.screens[section]}</span>
      {(badges[section] ?? 0) > 0 && <span class="badge">{badges[section]}</span>}
    </a>
  )
  return (
    <nav class="rail" aria-label={texts.rail}>
      <ul>
        {entries.map((entry) => (
          <li key={entry.section} class={classes(extra.includes(entry) && 'extra')}>
            {link(entry)}
          </li>
        ))}
        {extra.length > 0 && (
          <li class="more">
            <button
              type="button"
              popovertarget={id}
              class={classes(extra.some(({ section }) => section === current) && 'on')}
            >
              <Icon name="more" size={18} />
              <span class="name">{texts.more}</span>
            </button>
          </li>
        )}
      </ul>
      {extra.length > 0 && (
        <div id={id} popover="auto" class="menu rail-menu">
          {extra.map((entry) => (
            <a
              key={entry.section}
              href={href(entry.section)}
              aria-current={entry.section === current ? 'page' : undefined}
              onClick={(event) => event.currentTarget.parentElement?.hidePopover()}
            >
              <Icon name={entry.icon} size={18} />
              {texts.screens[entry.section]}
            </a>
          ))}
        </div>
      )}
    </nav>
  )
}

function CurrentScreen() {
  const { router } = usePage()
  const who = useWho()
  const main = useRef<HTMLElement>(null)
  const place = router.place.value
  const name = place?.name
  // A new screen begins at its top, and so do the Tab key and a screen reader.
  useEffect(() => {
    main.current?.scrollTo(0, 0)
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true })
    if (name) document.title = `${titleOf(name)} · ${texts.product}`
  }, [name])
  const Screen = name && SCREENS[name]
  const missing = name && missingScope(name, who)
  return (
    <main class={classes('main', name && `at-${name}`)} id="content" tabIndex={-1} ref={main}>
      {Screen && !missing && (
        <Boundary key={sectionOf(name)}>
          <Screen />
        </Boundary>
      )}
      {Screen && missing && (
        <Empty icon="lock" isWholeScreen title={texts.noScope.title}>
          <p>{texts.noScope.text(missing)}</p>
        </Empty>
      )}
      {!Screen && (
        <Empty icon="explore" isWholeScreen title={texts.notFound.title}>
          <p>{texts.notFound.text}</p>
          <div class="actions">
            <a class="button primary" href={href('explore')}>
              {texts.notFound.action}
            </a>
          </div>
        </Empty>
      )}
    </main>
  )
}

function ModeChip() {
  const who = useWho()
  if (who.mode !== 'read-only') return null
  return (
    <span class="chip warn" title={texts.readOnlyWhy}>
      <Icon name="lock" size={13} />
      {texts.readOnly}
    </span>
  )
}

export function Mark() {
  return (
    <svg class="mark" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="var(--accent)" />
      <path d="M8 12.5 16 8l8 4.500-8 4.500z" fill="var(--on-accent)" />
      <path
        d="m8 18 8 4.500 8-4.500"
        fill="none"
        stroke="var(--on-accent)"
        stroke-width="2.400"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}

function titleOf(name: RouteName): string {
  const titles: Record<string, string> = texts.screens
  return titles[sectionOf(name)] ?? texts.product
}

function skipToContent(): void {
  document.getElementById('content')?.focus()
}

export function modKey(): string {
  return /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl'
}
