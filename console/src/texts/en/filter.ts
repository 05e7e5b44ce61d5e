/** Words of the filter. */
export const texts = {
  label: 'Filter',
  focus: 'Filter',
  clear: 'Clear the filter',
  remove: (term: string) => `Remove ${term}`,
  unknown: (terms: string) => `Not understood, and not used: ${terms}`,
}
