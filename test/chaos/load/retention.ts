/** For how long calls of `v1:Chaos.Brief` are kept: long enough to end under most faults, and to expire in a short run. */
export const BRIEF_TTL_SECONDS = 30
