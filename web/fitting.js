// Least-squares fits with few parameters.
// SPDX-License-Identifier: MIT

/** Solves a small system of linear equations; null if it is singular. */
export function solve(matrix, right) {
  const n = right.length;
  const rows = matrix.map((row, k) => [...row, right[k]]);
  for (let k = 0; k < n; ++k) {
    let pivot = k;
    for (let row = k + 1; row < n; ++row) if (Math.abs(rows[row][k]) > Math.abs(rows[pivot][k])) pivot = row;
    if (!(Math.abs(rows[pivot][k]) > 1e-300)) return null;
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let row = 0; row < n; ++row) {
      if (row === k) continue;
      const factor = rows[row][k] / rows[k][k];
      for (let column = k; column <= n; ++column) rows[row][column] -= factor * rows[k][column];
    }
  }
  return rows.map((row, k) => row[n] / row[k]);
}

/**
 * Fits y by model(x, parameters), weighted, by Levenberg-Marquardt. Returns {parameters, errors, chi2}; errors are
 * standard errors if weights are 1/variance.
 */
export function fitCurve(x, y, weights, model, start, steps = 60) {
  let parameters = [...start], damping = 1e-3;
  const chi2Of = (at) => {
    let sum = 0;
    for (let k = 0; k < x.length; ++k) sum += weights[k] * (y[k] - model(x[k], at)) ** 2;
    return sum;
  };
  const n = start.length;
  const normal = () => {
    const matrix = Array.from({ length: n }, () => new Array(n).fill(0)), right = new Array(n).fill(0);
    for (let k = 0; k < x.length; ++k) {
      const value = model(x[k], parameters);
      const slopes = parameters.map((parameter, p) => {
        const step = 1e-5 * Math.max(Math.abs(parameter), 1e-3);
        const moved = [...parameters];
        moved[p] += step;
        return (model(x[k], moved) - value) / step;
      });
      for (let a = 0; a < n; ++a) {
        right[a] += weights[k] * slopes[a] * (y[k] - value);
        for (let b = 0; b < n; ++b) matrix[a][b] += weights[k] * slopes[a] * slopes[b];
      }
    }
    return { matrix, right };
  };
  let chi2 = chi2Of(parameters);
  for (let step = 0; step < steps; ++step) {
    const { matrix, right } = normal();
    const damped = matrix.map((row, a) => row.map((value, b) => (a === b ? value * (1 + damping) + 1e-300 : value)));
    const change = solve(damped, right);
    if (!change) break;
    const moved = parameters.map((parameter, p) => parameter + change[p]);
    const next = chi2Of(moved);
    if (next < chi2) {
      const isDone = chi2 - next < 1e-9 * chi2;
      parameters = moved;
      chi2 = next;
      damping = Math.max(1e-9, damping / 5);
      if (isDone) break;
    } else {
      damping *= 5;
      if (damping > 1e9) break;
    }
  }
  const { matrix } = normal();
  const errors = parameters.map((_, p) => {
    const unit = parameters.map((__, k) => (k === p ? 1 : 0));
    const column = solve(matrix, unit);
    return column && column[p] > 0 ? Math.sqrt(column[p]) : NaN;
  });
  return { parameters, errors, chi2 };
}
