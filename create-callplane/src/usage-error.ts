/** A mistake that the user can mend. Its message says how; no stack trace is shown. */
export class UsageError extends Error {}
