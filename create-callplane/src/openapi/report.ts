/** What is printed after an import: the tools, the secrets to set, and what was left out. */

export interface LeftOut {
  /** `GET /pets/{id}` */
  readonly place: string
  readonly reason: string
}

export interface Summary {
  readonly title: string | undefined
  readonly tools: number
  /** Their profiles, by the names of the secrets. */
  readonly secrets: ReadonlyMap<string, string>
  readonly leftOut: readonly LeftOut[]
  /** Tools that differ from the document. */
  readonly notes: readonly LeftOut[]
}

const SHOWN = 25

export function reportOf({ title, tools, secrets, leftOut, notes }: Summary): string {
  const lines = [`${tools} tools from ${title === undefined ? 'the document' : `"${shown(title)}"`}, in operations/.`]
  if (secrets.size > 0) {
    lines.push('', 'Set the secrets before you call them:')
    for (const [name, profile] of secrets) lines.push(...variablesOf(name, profile).map((variable) => `  ${variable}`))
  }
  if (notes.length > 0) lines.push('', 'Differences from the document:', ...listed(notes))
  if (leftOut.length > 0) {
    lines.push(
      '',
      `Left out, ${leftOut.length} in all${leftOut.length > SHOWN ? ' (left-out.txt lists them)' : ''}:`,
      ...listed(leftOut),
    )
  }
  return `${lines.join('\n')}\n`
}

/** The server's names of the environment variables. */
function variablesOf(name: string, profile: string): string[] {
  const variable = `CALLPLANE_SECRET_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`
  if (profile === 'oauth2_client_credentials') return [`${variable}__CLIENT_ID`, `${variable}__CLIENT_SECRET`]
  return [profile === 'basic' ? `${variable} (username:password)` : variable]
}

function listed(entries: readonly LeftOut[]): string[] {
  const lines = entries.slice(0, SHOWN).map(({ place, reason }) => `  ${shown(place)}: ${shown(reason)}`)
  return entries.length > SHOWN ? [...lines, `  and ${entries.length - SHOWN} more`] : lines
}

/** Text of the document may hold control characters, which a terminal would obey. */
function shown(text: string): string {
  return text.replaceAll(/\p{C}/gu, ' ').slice(0, 300)
}
