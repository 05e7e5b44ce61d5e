/** Ends the turn of every socket that wrote in this turn of the event loop. One timer serves all sockets of a carrier. */

export interface Turning {
  /** Called once after each turn in which it was added. */
  endTurn(): void
}

export class Turns {
  #waiting: Turning[] = []

  add(turning: Turning): void {
    if (this.#waiting.push(turning) === 1) setImmediate(() => this.#end())
  }

  #end(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const turning of waiting) turning.endTurn()
  }
}
