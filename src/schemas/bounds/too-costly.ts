/** A check was stopped because it took more than its value may cost. Who asked for it turns this into a fault. */
export class TooCostly extends Error {
  override readonly name = 'TooCostly'
}
