// NeNA of the filtered rows: the precision from distances to the nearest neighbour in the next frame (Endesfelder et
// al. 2014), with one precision for all rows.
// SPDX-License-Identifier: MIT

/** Rows that fulfil the conditions, by frame. */
function rowsByFrame(table, mask) {
  const { frame } = table, first = Math.min(table.firstFrame, table.lastFrame);
  const begins = new Uint32Array(table.lastFrame - first + 2);
  for (let row = 0; row < table.loaded; ++row) if (mask[row]) ++begins[frame[row] - first + 1];
  for (let k = 1; k < begins.length; ++k) begins[k] += begins[k - 1];
  const rows = new Uint32Array(begins[begins.length - 1]), next = begins.slice();
  for (let row = 0; row < table.loaded; ++row) if (mask[row]) rows[next[frame[row] - first]++] = row;
  return { rows, begins };
}

/**
 * Yields between parts. Returns {fit, onTimes}. `fit`: {precision, error, pairs} in px, or null with fewer than 100
 * pairs. `onTimes`: how many molecules are seen in k consecutive frames, each time within `linkPx` of the frame before.
 */
export function* measureNena(table, mask, maxPx, linkPx) {
  const { rows, begins } = rowsByFrame(table, mask);
  yield;
  // Steps are as wide as the histogram's bins. A random place in the step avoids a pattern of both.
  const at = (row, axis) => table.xy[2 * row + axis] + (Math.imul(2 * row + axis, 0x9e3779b1) >>> 0) / 4294967296;
  const reach = maxPx / table.step;
  const distances = [], onTimes = [];
  const frames = new Uint16Array(table.loaded); // consecutive frames that end with this row
  const isLinked = new Uint8Array(table.loaded); // to a row of the next frame
  let before = rows.subarray(0, 0);
  for (let k = 0; k + 1 < begins.length; ++k) {
    // Rows of a frame by y, so that only those within reach are compared.
    const now = rows.subarray(begins[k], begins[k + 1]).sort((a, b) => at(a, 1) - at(b, 1));
    let low = 0;
    for (const row of before) {
      const x = at(row, 0), y = at(row, 1);
      while (low < now.length && at(now[low], 1) < y - reach) ++low;
      let best = reach * reach, nearest = -1;
      for (let other = low; other < now.length; ++other) {
        const dy = at(now[other], 1) - y;
        if (dy > reach) break;
        const dx = at(now[other], 0) - x;
        if (dx * dx + dy * dy < best) {
          best = dx * dx + dy * dy;
          nearest = now[other];
        }
      }
      if (nearest < 0) continue;
      const distance = Math.sqrt(best) * table.step;
      distances.push(distance);
      if (distance > linkPx || frames[nearest]) continue;
      frames[nearest] = frames[row] + 1;
      isLinked[row] = 1;
    }
    for (const row of before) if (!isLinked[row]) onTimes[frames[row]] = (onTimes[frames[row]] ?? 0) + 1;
    for (const row of now) if (!frames[row]) frames[row] = 1;
    before = now;
    if ((k & 63) === 0) yield;
  }
  for (const row of before) onTimes[frames[row]] = (onTimes[frames[row]] ?? 0) + 1;
  const fit = fitNena(distances);
  // The step and the place in it add their variances.
  if (fit) fit.precision = Math.sqrt(Math.max(0, fit.precision ** 2 - table.step ** 2 / 6));
  return { fit, onTimes: Array.from(onTimes, (count) => count ?? 0) };
}

/**
 * Fits r/(2 s^2) exp(-r^2/(4 s^2)) and a linear background of other molecules to the histogram, within 4.5 s. Lengths
 * have the unit of the distances.
 */
export function fitNena(distances) {
  if (distances.length < 100) return null;
  const sorted = Float64Array.from(distances).sort();
  let sigma = sorted[sorted.length >> 1] / Math.sqrt(4 * Math.log(2)), error = NaN;
  for (let round = 0; round < 6; ++round) {
    const end = 4.5 * sigma, bins = Math.max(20, Math.min(80, Math.floor(Math.sqrt(distances.length))));
    const width = end / bins, counts = new Float64Array(bins);
    for (const distance of distances) if (distance < end) ++counts[Math.floor(distance / width)];
    const chi2 = (s) => {
      let aa = 0, ab = 0, bb = 0, ay = 0, by = 0, yy = 0;
      for (let k = 0; k < bins; ++k) {
        const r = (k + 0.5) * width, weight = 1 / Math.max(1, counts[k]);
        const a = (r / (2 * s * s)) * Math.exp((-r * r) / (4 * s * s)), b = r;
        aa += weight * a * a;
        ab += weight * a * b;
        bb += weight * b * b;
        ay += weight * a * counts[k];
        by += weight * b * counts[k];
        yy += weight * counts[k] ** 2;
      }
      const det = aa * bb - ab * ab;
      const second = (aa * by - ab * ay) / det, first = (bb * ay - ab * by) / det;
      if (second < 0 || !(det > 0)) return yy - (ay * ay) / aa;
      return yy - first * ay - second * by;
    };
    let low = 0.4 * sigma, high = 2.2 * sigma;
    const ratio = (Math.sqrt(5) - 1) / 2;
    for (let step = 0; step < 60; ++step) {
      const a = high - ratio * (high - low), b = low + ratio * (high - low);
      if (chi2(a) < chi2(b)) high = b;
      else low = a;
    }
    sigma = (low + high) / 2;
    const step = 0.01 * sigma, curvature = (chi2(sigma + step) - 2 * chi2(sigma) + chi2(sigma - step)) / (step * step);
    error = curvature > 0 ? Math.sqrt(2 / curvature) : NaN;
  }
  return { precision: sigma, error, pairs: distances.length };
}
