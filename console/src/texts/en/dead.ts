/** Words of the dead letters. */
export const texts = {
  title: 'Dead letters',
  lead: 'Calls that ended by a timeout, a failure of a tool or of the server, or an unknown outcome.',
  placeholder: 'op:v1:orders.* code:UPSTREAM since:1d',
  groups: 'By operation and code',
  count: 'Runs',
  last: 'Latest:',
  empty: {
    title: 'No dead letters',
    text: 'Calls that fail for a reason that is not their caller’s wait here until they are replayed or dismissed.',
    action: 'Show all runs',
  },
  none: { title: 'No dead letter matches', text: 'Make the filter wider to see more.', action: 'Clear the filter' },
  filterBy: (operation: string, code: string) => `Show only ${operation} with ${code}`,
}
