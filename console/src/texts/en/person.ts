/** Words of the menu of the signed-in person. */
export const texts = {
  open: 'You and settings',
  nobody: 'Local caller',
  tenant: (name: string) => `Tenant ${name}`,
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  zone: 'Times',
  zones: { local: 'Local', utc: 'UTC' },
  singleKeys: 'Single-key shortcuts',
  settings: 'All settings',
  signOut: 'Sign out',
}
