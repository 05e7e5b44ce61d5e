/** Renders the report as JUnit XML for CI systems. Only a finding that fails the run is a failure there. */
import type { Level, Verdict } from '../../testing/conformance/index.ts'
import type { Report } from './report.ts'

export function renderJunit({ protocol, url, verdicts }: Report, fails: (level: Level) => boolean): string {
  const failed = verdicts.filter(({ outcome, level }) => outcome === 'unmet' && fails(level)).length
  const skipped = verdicts.filter(({ outcome }) => outcome === 'not-applicable' || outcome === 'skipped').length
  const seconds = verdicts.reduce((sum, { durationMs }) => sum + durationMs, 0) / 1000
  const counts = `tests="${verdicts.length}" failures="${failed}" skipped="${skipped}" time="${seconds}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escapeXml(`${protocol} ${url}`)}" ${counts}>`,
    ...verdicts.flatMap((verdict) => renderCase(protocol, verdict, fails)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function renderCase(protocol: string, verdict: Verdict, fails: (level: Level) => boolean): string[] {
  const { id, title, outcome, level, reason = '', durationMs } = verdict
  const open = `    <testcase classname="${protocol}.${level}" name="${escapeXml(`${id}: ${title}`)}" time="${durationMs / 1000}"`
  if (outcome === 'met') return [`${open}/>`]
  const text = escapeXml(reason)
  if (outcome !== 'unmet') return [`${open}>`, `      <skipped message="${text}"/>`, '    </testcase>']
  const details = escapeXml(detailsOf(verdict))
  const body = fails(level)
    ? `      <failure type="${level}" message="${text}">${details}</failure>`
    : `      <system-out>${level}: ${text}\n${details}</system-out>`
  return [`${open}>`, body, '    </testcase>']
}

function detailsOf({ requirements, evidence }: Verdict): string {
  const cited = requirements.join(', ')
  if (!evidence) return cited
  const { sent, received } = evidence
  return `${cited}\n\n${sent.method} ${sent.path}\n${sent.body}\n\n${received.status}\n${received.body}\n`
}

function escapeXml(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 cannot carry them, escaped or not
      .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
  )
}
