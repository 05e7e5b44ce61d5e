/** Thrown when a check exceeded its budget. The caller of the check turns it into a fault. */
export class TooCostly extends Error {
  override readonly name = 'TooCostly'
}
