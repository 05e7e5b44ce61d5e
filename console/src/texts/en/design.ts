/** Words of the small components. */
export const texts = {
  close: 'Close',
  copy: 'Copy',
  copied: 'Copied',
  retry: 'Try again',
  details: 'Details',
  explainCode: (code: string) => `What ${code} means`,
  loading: 'Loading',
  newest: 'just now',
  states: {
    accepted: 'Queued',
    pending: 'Running',
    streaming: 'Streaming',
    complete: 'Complete',
    error: 'Failed',
    held: 'Held',
    canceled: 'Canceled',
  },
  unseen: (name: string) => `hidden character ${name}`,
}
