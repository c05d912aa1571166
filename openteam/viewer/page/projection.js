// Many numbers per agent as two: the directions in which the type vectors of an episode differ most.

export class Projection {
  constructor() {
    this.axes = null;
    this.fittedTo = 0;
  }

  // Fit again while frames arrive, without turning the picture around.
  fit(vectors, count) {
    if (this.axes && count < 1.3 * this.fittedTo) return;
    const size = vectors[0].length;
    this.middle = Array.from({ length: size }, (_, at) => vectors.reduce((sum, vector) => sum + vector[at], 0) / vectors.length);
    const rows = vectors.map((vector) => vector.map((value, at) => value - this.middle[at]));
    const before = this.axes;
    this.axes = [];
    for (let number = 0; number < Math.min(2, size); number++) this.axes.push(this.axis(rows, before?.[number], number));
    this.fittedTo = count;
  }

  // Power iteration, orthogonal to the axes so far.
  axis(rows, start, number) {
    let axis = start ?? this.middle.map((_, at) => Math.cos(7 * (at + 1) * (number + 1)));
    for (let round = 0; round < 30; round++) {
      const next = axis.map(() => 0);
      for (const row of rows) {
        const along = dot(row, axis);
        for (let at = 0; at < next.length; at++) next[at] += along * row[at];
      }
      for (const other of this.axes) {
        const along = dot(next, other);
        for (let at = 0; at < next.length; at++) next[at] -= along * other[at];
      }
      const length = Math.hypot(...next) || 1;
      axis = next.map((value) => value / length);
    }
    return start && dot(start, axis) < 0 ? axis.map((value) => -value) : axis;
  }

  of(vector) {
    const moved = vector.map((value, at) => value - this.middle[at]);
    return [0, 1].map((number) => (this.axes[number] ? dot(moved, this.axes[number]) : 0));
  }
}

const dot = (one, other) => one.reduce((sum, value, at) => sum + value * other[at], 0);
