// Measurements in the picture: distance, line profile with a fitted width, and a region with its counts over time.
// SPDX-License-Identifier: MIT
import { fitCurve } from "./fitting.js";
import { plot } from "./plot.js";
import { lengthText, make, shortNumber, withCommas, withError } from "./text.js";

const gaussFwhm = 2 * Math.sqrt(2 * Math.log(2));

/** Returns the values of rows along a line, as distances from its first end in px, of rows within `halfWidth` px. */
export function alongLine(table, mask, from, to, halfWidth) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  const ux = (to[0] - from[0]) / length, uy = (to[1] - from[1]) / length;
  const values = [];
  for (let row = 0; row < table.loaded; ++row) {
    if (!mask[row]) continue;
    const dx = table.xPx(row) - from[0], dy = table.yPx(row) - from[1];
    const along = dx * ux + dy * uy;
    if (along < 0 || along > length || Math.abs(dy * ux - dx * uy) > halfWidth) continue;
    values.push(along);
  }
  return { values, length };
}

/**
 * Fits a Gaussian on a constant to the histogram of positions from 0 to `length`. Returns {sigma, error, center, counts,
 * x, fit}; sigma is NaN if there are too few rows.
 */
export function fitProfile(values, length) {
  // Bins of a third of the width, which is estimated from the spread around the median.
  const sorted = [...values].sort((p, q) => p - q), middle = sorted[sorted.length >> 1] ?? 0;
  const spread = 1.4826 * (sorted.map((value) => Math.abs(value - middle)).sort((p, q) => p - q)[sorted.length >> 1] ?? 0);
  const bins = Math.round(Math.max(20, Math.min(200, (3 * length) / Math.max(spread, length / 100))));
  const width = length / bins;
  const counts = new Array(bins).fill(0), x = counts.map((_, k) => (k + 0.5) * width);
  for (const value of values) ++counts[Math.min(bins - 1, Math.floor(value / width))];
  const found = { x, counts, sigma: NaN, error: NaN, center: NaN, fit: null };
  if (values.length < 20) return found;
  const smooth = counts.map((_, k) => (counts[k - 1] ?? counts[k]) + counts[k] + (counts[k + 1] ?? counts[k]));
  const peak = smooth.indexOf(Math.max(...smooth));
  const base = Math.min(...smooth) / 3;
  const half = base + (smooth[peak] / 3 - base) / 2;
  const wide = smooth.filter((count) => count / 3 > half).length * width;
  const model = (at, [height, center, sigma, level]) => level + height * Math.exp(-0.5 * ((at - center) / sigma) ** 2);
  const start = [Math.max(1, smooth[peak] / 3 - base), x[peak], Math.max(width, wide / gaussFwhm), base];
  const fitOnce = (weights, from) => fitCurve(x, counts, weights, model, from);
  let result = fitOnce(counts.map((count) => 1 / Math.max(1, count)), start);
  // Weights by the expected counts: those by the counts themselves favour bins that are low by chance.
  result = fitOnce(x.map((at) => 1 / Math.max(0.5, model(at, result.parameters))), result.parameters);
  const [, center, sigma] = result.parameters;
  const isFound = center > 0 && center < length && Math.abs(sigma) < length / 2 && result.errors[2] < 0.5 * Math.abs(sigma);
  if (!isFound || !(result.parameters[0] > 0)) return found;
  found.sigma = Math.sqrt(Math.max(0, sigma * sigma - (width * width) / 12)); // without the width of a bin
  found.error = result.errors[2];
  found.center = center;
  found.fitX = Array.from({ length: 301 }, (_, k) => (k / 300) * length);
  found.fit = found.fitX.map((at) => model(at, result.parameters));
  return found;
}

/** Returns statistics of the rows in a rectangle. */
export function rowsInRegion(table, mask, from, to) {
  const [x0, x1] = [Math.min(from[0], to[0]), Math.max(from[0], to[0])];
  const [y0, y1] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
  const rows = [];
  for (let row = 0; row < table.loaded; ++row) {
    if (!mask[row]) continue;
    const x = table.xPx(row), y = table.yPx(row);
    if (x >= x0 && x < x1 && y >= y0 && y < y1) rows.push(row);
  }
  return { rows, areaPx: (x1 - x0) * (y1 - y0) };
}

/** Counts bursts: rows of consecutive frames, with at most one frame without rows in between. */
export function burstsOf(frames) {
  const sorted = [...frames].sort((a, b) => a - b);
  let bursts = 0, last = -Infinity;
  for (const frame of sorted) {
    if (frame > last + 2) ++bursts;
    last = frame;
  }
  return bursts;
}

function medianOf(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  return sorted.length ? sorted[sorted.length >> 1] : NaN;
}

/** Makes the report of a mark: distance, profile or region. */
export function describeMark(mark, table, mask, widthNm) {
  const unit = table.unit, per = table.perPx;
  const list = make("dl", { class: "facts" });
  const add = (name, value) => list.append(make("dt", { text: name }), make("dd", { text: value }));
  const box = make("div", { class: "measured" }, list);
  const dx = (mark.to[0] - mark.from[0]) * per, dy = (mark.to[1] - mark.from[1]) * per;
  if (mark.kind === "distance") {
    mark.result = { length: Math.hypot(dx, dy) };
    mark.label = lengthText(mark.result.length, unit);
    add("Distance", mark.label);
    add("Along x, y", `${lengthText(dx, unit)}, ${lengthText(dy, unit)}`);
  } else if (mark.kind === "profile") {
    mark.halfWidthPx = widthNm / per / 2;
    const { values, length } = alongLine(table, mask, mark.from, mark.to, mark.halfWidthPx);
    const profile = fitProfile(values.map((value) => value * per), length * per);
    mark.result = { ...profile, rows: values.length };
    mark.label = Number.isFinite(profile.sigma) ? `FWHM ${lengthText(gaussFwhm * profile.sigma, unit)}` : "";
    add("Length", lengthText(length * per, unit));
    add("Rows", withCommas(values.length));
    add("Fitted width (σ)", withError(profile.sigma, profile.error, unit));
    add("FWHM", withError(gaussFwhm * profile.sigma, gaussFwhm * profile.error, unit));
    const curves = [{ x: profile.x, y: profile.counts, kind: "bars", color: "var(--curve-1)", name: "rows" }];
    if (profile.fit) curves.push({ x: profile.fitX, y: profile.fit, kind: "line", color: "var(--curve-2)", name: "fit" });
    box.append(plot(curves, { title: "Line profile", xLabel: `Distance along the line (${unit})`, yLabel: "Rows", width: 340, height: 210 }));
    if (!profile.fit) box.append(make("p", { class: "note", text: "No single structure was found: draw the line across one, with some empty space on both sides and at least 20 rows." }));
  } else {
    const { rows, areaPx } = rowsInRegion(table, mask, mark.from, mark.to);
    const area = areaPx * per * per;
    const frames = rows.map((row) => table.frame[row]);
    const bursts = burstsOf(frames);
    mark.result = { rows: rows.length, area, bursts };
    mark.label = `${withCommas(rows.length)} rows`;
    add("Rows", withCommas(rows.length));
    add("Size", `${lengthText(Math.abs(dx), unit)} x ${lengthText(Math.abs(dy), unit)}`);
    add("Density", unit === "nm" ? `${shortNumber((rows.length / area) * 1e6, 4)} per µm²` : `${shortNumber(rows.length / area, 4)} per px²`);
    add("Bursts", `${withCommas(bursts)} (gaps of one frame allowed)`);
    for (const name of ["photons", "lpx_nm", "lpx"]) {
      const column = table.named[name];
      if (column) add(`Median ${name === "photons" ? "photons" : "precision x"}`, `${shortNumber(medianOf(rows.map((row) => table.value(column, row))))} ${column.unit === "photons" ? "" : column.unit}`);
    }
    const bins = Math.min(200, table.lastFrame + 1), width = (table.lastFrame + 1) / bins;
    const counts = new Array(bins).fill(0);
    for (const frame of frames) ++counts[Math.floor(frame / width)];
    const x = counts.map((_, k) => (k + 0.5) * width);
    box.append(plot([{ x, y: counts, kind: "bars", color: "var(--curve-1)" }], { title: "Rows over time", xLabel: "Frame", yLabel: width > 1 ? `Rows in ${shortNumber(width)} frames` : "Rows", width: 340, height: 190 }));
  }
  return box;
}
