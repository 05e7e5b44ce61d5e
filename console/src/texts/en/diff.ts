/** Words of a comparison. */
export const texts = {
  place: 'Place',
  before: 'Before',
  after: 'Now',
  value: 'Value',
  changes: { same: 'same', changed: 'changed', added: 'added', removed: 'removed' },
  whole: '(whole value)',
  showSame: (count: number) =>
    count === 1 ? 'Show the value that is the same' : `Show ${count} values that are the same`,
  hideSame: 'Hide values that are the same',
  nothing: 'No difference.',
  showAll: (count: string) => `Show all ${count} characters`,
}
