/** How bytes of a type are shown. Nothing of a result is ever run as a page of this origin. */

export type Preview =
  | 'json'
  | 'text'
  | 'html'
  | 'svg'
  | 'markdown'
  | 'csv'
  | 'image'
  | 'audio'
  | 'video'
  | 'pdf'
  | 'binary'

const BY_TYPE: Readonly<Record<string, Preview>> = {
  'application/json': 'json',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'image/svg+xml': 'svg',
  'text/markdown': 'markdown',
  'text/csv': 'csv',
  'application/pdf': 'pdf',
  'application/xml': 'text',
  'application/yaml': 'text',
  'application/x-ndjson': 'text',
  'application/javascript': 'text',
}

/** The families that browsers show in an element. */
const FAMILIES: readonly Preview[] = ['image', 'audio', 'video', 'text']

export function previewOf(mimeType: string): Preview {
  const type = mimeType.split(';')[0]?.trim().toLowerCase() ?? ''
  const known = BY_TYPE[type]
  if (known) return known
  if (type.endsWith('+json')) return 'json'
  if (type.endsWith('+xml')) return 'text'
  return FAMILIES.find((family) => type.startsWith(`${family}/`)) ?? 'binary'
}

export function isTextual(preview: Preview): boolean {
  return ['json', 'text', 'html', 'svg', 'markdown', 'csv'].includes(preview)
}

/** What a PDF begins with. Anything else is not given to the browser's viewer. */
export async function isPdf(blob: Blob): Promise<boolean> {
  return (await blob.slice(0, 5).text()) === '%PDF-'
}
