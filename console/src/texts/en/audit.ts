/** Words of the audit trail. */
export const texts = {
  title: 'Audit',
  lead: 'Who called what, when, and with which outcome. Arguments are not kept here.',
  placeholder: 'owner:callplane|support verdict:deny code:TIMEOUT rule:policy#large-refunds since:1d',
  presets: { denied: 'Denied', held: 'Held', reveals: 'Payloads shown', decisions: 'Decisions' },
  columns: {
    at: 'Time',
    caller: 'Caller',
    operation: 'Operation',
    verdict: 'Verdict',
    outcome: 'Outcome',
    duration: 'Duration',
  },
  rule: 'Rule',
  request: 'Request',
  verdicts: { allow: 'Allowed', deny: 'Denied', hold: 'Held' },
  outcomes: { complete: 'Complete', error: 'Failed' } as Readonly<Record<string, string>>,
  more: 'Show older entries',
  searched: 'The server searched a part of the trail.',
  empty: {
    title: 'No entries',
    text: 'Recorded and governed calls appear here when they end.',
    action: 'Call an operation',
  },
  none: {
    title: 'No entry matches',
    text: 'Make the filter wider, or look at older entries.',
    action: 'Clear the filter',
  },
}
