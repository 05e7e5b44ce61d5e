/** Words of the settings. */
import { countOf } from '../../design/time.tsx'

export const texts = {
  title: 'Settings',
  lead: 'Your choices, views and saved calls stay in this browser.',
  looks: 'Appearance and keys',
  keysHint: 'Press ? on any screen to see its keys.',
  history: {
    title: 'History',
    text: 'Calls that you ran in Explore, with their results, for this server and this caller.',
    count: (count: number) => (count === 1 ? '1 call' : `${countOf(count)} calls`),
    unavailable: 'This browser does not keep data for the page.',
  },
  views: {
    title: 'Saved views of the runs',
    empty: 'Set a filter in Runs and save it as a view. It appears here, in Runs and in the palette.',
    badFile: 'This file has no saved views.',
    imported: (count: number) => `${countOf(count)} views imported.`,
  },
  session: {
    title: 'Session',
    caller: 'Caller',
    localCaller: 'Local caller',
    tenant: 'Tenant',
    scopes: 'Scopes',
    noScopes: 'none',
    mode: 'Mode',
    modes: { 'read-write': 'reads and changes', 'read-only': 'reads only' },
    ends: 'Ends',
    idle: (minutes: string) => `, or after ${minutes} without a request`,
    server: 'Server',
    started: 'Server started',
    open: 'The page has no session, so there is nothing to sign out of.',
    signOut: 'Sign out',
  },
}
