/** Words of exports. */
export const texts = {
  open: { calls: 'Export runs', deadletters: 'Export dead letters', audit: 'Export the audit trail' },
  all: {
    calls: 'All runs that the server keeps, newest first, without arguments and results.',
    deadletters: 'All dead letters, newest first, without arguments and results.',
    audit: 'The whole audit trail, newest first.',
  },
  matching: {
    calls: 'All runs that match the filter, newest first, without arguments and results:',
    deadletters: 'All dead letters that match the filter, newest first, without arguments and results:',
    audit: 'All entries that match the filter, newest first:',
  },
  format: 'Format',
  formats: { jsonl: 'JSON lines', csv: 'CSV' },
  hints: {
    jsonl: 'One JSON object on each line, as the server’s list has it.',
    csv: 'For spreadsheets. A cell that looks like a formula begins with an apostrophe.',
  },
  files: { calls: 'runs', deadletters: 'dead-letters', audit: 'audit' },
  start: 'Export',
  cancel: 'Cancel',
  busy: 'Exporting',
  writing: 'The server writes the file…',
  received: (size: string) => `${size} received`,
  done: (rows: string, name: string, size: string) => `${rows} rows saved as ${name} (${size})`,
}
