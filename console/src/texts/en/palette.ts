/** Words of the palette and of the list of keys. */
export const texts = {
  title: 'Search operations, screens, views, saved calls, ids and actions',
  placeholder: 'Operation, screen, view, saved call, id or action',
  results: 'Results',
  none: (query: string) => `Nothing is called “${query}”.`,
  kinds: {
    operation: 'Operation',
    screen: 'Screen',
    view: 'View of the runs',
    savedCall: 'Saved call',
    run: 'Run',
    approval: 'Approval',
    action: 'Action',
  },
  actions: {
    theme: { light: 'Use the light theme', dark: 'Use the dark theme', system: 'Follow the theme of the system' },
    zone: 'Switch between local time and UTC',
    help: 'Show all keys',
    signOut: 'Sign out',
  },
  help: {
    title: 'Keys',
    palette: 'Open the palette',
    help: 'Show all keys',
    back: 'Back',
    off: 'Single keys are switched off.',
    single: 'Single-key shortcuts',
  },
}
