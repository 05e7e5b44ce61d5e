/** Which rows are hidden because something around them is closed, and which row is at which place then. */

/** Ranges of hidden rows: after `from`, up to and with `to`. Sorted, and none within another. */
export type Folds = readonly { from: number; to: number }[]

export function fold(folds: Folds, from: number, to: number): Folds {
  const others = folds.filter((one) => one.to <= from || one.from >= to)
  return [...others, { from, to }].sort((a, b) => a.from - b.from)
}

export function unfold(folds: Folds, from: number): Folds {
  return folds.filter((one) => one.from !== from)
}

export function shownCount(folds: Folds, count: number): number {
  return folds.reduce((shown, { from, to }) => shown - (to - from), count)
}

/** The row that is shown at this place. */
export function rowAtPlace(folds: Folds, place: number): number {
  let row = place
  for (const { from, to } of folds) {
    if (from >= row) break
    row += to - from
  }
  return row
}

/** The place of a row. A hidden row is at the place of the row that hides it. */
export function placeOfRow(folds: Folds, row: number): number {
  let place = row
  for (const { from, to } of folds) {
    if (from >= row) break
    place -= Math.min(to, row) - from
  }
  return place
}
