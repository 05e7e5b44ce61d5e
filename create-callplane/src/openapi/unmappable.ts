/** A part of an API that cannot become a tool. The message is the reason, for the list at the end. */
export class Unmappable extends Error {}
