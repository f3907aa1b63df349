// Filters: histograms with two limits each. All histograms and counts come from one pass over the rows.
// SPDX-License-Identifier: MIT
import { svg } from "./plot.js";
import { runTask } from "./tasks.js";
import { logTicksBetween, make, shortNumber, ticksBetween } from "./text.js";

const histogramWidth = 300, histogramHeight = 46, maxBins = 128;

/** The bins of a column: groups of neighbouring codes. */
export function binsOf(table, column) {
  const first = table.firstCode(column), last = Math.max(first, table.lastCode(column));
  const width = column.kind === "cells" ? 1 : Math.max(1, Math.ceil((last - first + 1) / maxBins));
  return { column, first, width, count: Math.floor((last - first) / width) + 1 };
}

/** Counts the rows of each bin that fulfil the conditions. Yields between pieces; `onPart` receives what is known. */
export function* countRows(table, conditions, mask, bins, onPart) {
  const counts = bins.map((one) => new Float64Array(one.count));
  let passing = 0, seen = 0, told = performance.now();
  for (const { begin, end } of table.pieces) {
    passing += conditions.evaluate(begin, end, mask);
    seen = end;
    for (let k = 0; k < bins.length; ++k) {
      const { column, first, width, count } = bins[k];
      const to = counts[k];
      if (column.kind === "cells") {
        const pack = table.packs[column.slot >> 2];
        const sums = new Uint32Array(256);
        for (let row = begin, at = 4 * begin + (column.slot & 3); row < end; ++row, at += 4) sums[pack[at]] += mask[row];
        for (let code = 0; code < count; ++code) to[code] += sums[code];
      } else {
        const codes = column.kind === "frame" ? table.frame : table.z;
        for (let row = begin; row < end; ++row)
          if (mask[row]) {
            const bin = Math.floor((codes[row] - first) / width);
            if (bin < count) ++to[bin];
          }
      }
    }
    if (onPart && performance.now() - told > 90) {
      onPart({ counts, passing, seen });
      told = performance.now();
    }
    yield;
  }
  return { counts, passing, seen };
}

/** Returns the median of a column from counts of its bins, by linear interpolation in the bin. */
export function medianOfBins(table, { column, first, width }, counts) {
  let sum = 0;
  for (const count of counts) sum += count;
  if (sum === 0) return NaN;
  let below = 0;
  for (let bin = 0; bin < counts.length; ++bin) {
    if (below + counts[bin] >= sum / 2) {
      let low = table.lowerEdge(column, first + bin * width), high = table.upperEdge(column, first + (bin + 1) * width - 1);
      if (column.integer || column.kind === "frame") return column.kind === "frame" ? low : table.valueOfCode(column, bin);
      if (!Number.isFinite(low) || !Number.isFinite(high)) return table.valueOfCode(column, first + bin * width);
      const share = (sum / 2 - below) / counts[bin];
      return column.log ? low * (high / low) ** share : low + share * (high - low);
    }
    below += counts[bin];
  }
  return NaN;
}

const columnTitles = {
  photons: "Photons", bg: "Background", lpx_nm: "Precision x", lpy_nm: "Precision y", lpx: "Precision x", lpy: "Precision y",
  lpz: "Precision z", sx_nm: "Width x", sy_nm: "Width y", sx: "Width x", sy: "Width y", p_value: "p value", frame: "Frame", z: "z",
  group: "Group", channel: "Channel", cluster: "Cluster", track: "Track", p_single: "p single", len: "Localizations merged", n: "Localizations merged",
};

export function titleOf(column) {
  const title = columnTitles[column.name] ?? column.name;
  return column.unit && column.unit !== "photons" ? `${title} (${column.unit})` : title;
}

/** One column's histogram. Calls `onChange(isFinal)` while and after a limit is moved. */
export class Histogram {
  constructor(table, conditions, bins, onChange) {
    this.table = table;
    this.conditions = conditions;
    this.bins = bins;
    this.onChange = onChange;
    this.low = 0;
    this.high = bins.count; // in bins: [low, high)
    this.range = make("span", { class: "range" });
    this.picture = svg("svg", { viewBox: `0 0 ${histogramWidth} ${histogramHeight + 17}`, class: "histogram" });
    this.all = svg("path", { class: "all" });
    this.passing = svg("path", { class: "passing" });
    this.shades = [svg("rect", { class: "shade", y: 0, height: histogramHeight }), svg("rect", { class: "shade", y: 0, height: histogramHeight })];
    this.handles = [0, 1].map((end) => this.makeHandle(end));
    this.picture.append(this.all, this.passing, ...this.shades, svg("line", { x1: 0, x2: histogramWidth, y1: histogramHeight, y2: histogramHeight, class: "axis" }), ...this.ticks(), ...this.handles);
    this.element = make(
      "div",
      { class: "filter", "data-column": bins.column.name },
      make("div", { class: "filter-head" }, make("span", { class: "filter-name", text: titleOf(bins.column) }), this.range),
      this.picture,
    );
    this.picture.addEventListener("dblclick", () => this.setBins(0, bins.count, true));
    this.place();
  }

  x(bin) {
    return 4 + ((histogramWidth - 8) * bin) / this.bins.count;
  }
  binAt(event) {
    const box = this.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * histogramWidth;
    return Math.round(((x - 4) / (histogramWidth - 8)) * this.bins.count);
  }

  /** The place of a value, in bins. */
  binOf(value) {
    const { column, first, width } = this.bins;
    if (column.kind === "frame") return (value - first) / width;
    if (column.kind === "axial") return (value / column.step - column.first - first) / width;
    const edges = column.edges;
    const k = edges.findIndex((edge) => edge > value);
    if (k <= 0) return k === 0 ? 0 : value === edges[edges.length - 1] ? edges.length : edges.length + 1;
    return k + (value - edges[k - 1]) / (edges[k] - edges[k - 1]);
  }

  ticks() {
    const { column, first, width, count } = this.bins;
    let low, high;
    if (column.kind === "cells") [low, high] = [column.edges[0], column.edges[column.last - 1]];
    else [low, high] = [this.table.lowerEdge(column, first), this.table.upperEdge(column, first + width * count - 1)];
    const ticks = column.log ? logTicksBetween(low, high) : ticksBetween(low, high, 5);
    return ticks.flatMap((tick) => {
      const x = this.x(this.binOf(tick) + (column.integer ? 0.5 : 0));
      if (!(x >= 10 && x <= histogramWidth - 10)) return [];
      return [
        svg("line", { x1: x, x2: x, y1: histogramHeight, y2: histogramHeight + 3, class: "axis" }),
        svg("text", { x, y: histogramHeight + 14, class: "tick middle" }, shortNumber(tick)),
      ];
    });
  }

  makeHandle(end) {
    const handle = svg("g", { class: "handle", tabindex: 0, role: "slider", "aria-label": `${titleOf(this.bins.column)}, ${end ? "upper" : "lower"} limit` });
    handle.append(
      svg("rect", { x: -7, y: 0, width: 14, height: histogramHeight, class: "grip-area" }),
      svg("line", { x1: 0, x2: 0, y1: 0, y2: histogramHeight }),
      svg("rect", { x: -3.5, y: histogramHeight / 2 - 9, width: 7, height: 18, rx: 3 }),
    );
    handle.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
      const move = (moved) => this.setEnd(end, this.binAt(moved), false);
      const stop = () => {
        handle.removeEventListener("pointermove", move);
        this.onChange(true);
      };
      handle.addEventListener("pointermove", move);
      handle.addEventListener("pointerup", stop, { once: true });
    });
    handle.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      const at = end ? this.high : this.low;
      if (step) this.setEnd(end, at + step, true);
      else if (event.key === "Home") this.setEnd(end, end ? this.low + 1 : 0, true);
      else if (event.key === "End") this.setEnd(end, end ? this.bins.count : this.high - 1, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    return handle;
  }

  setEnd(end, bin, isFinal) {
    if (end) this.setBins(this.low, Math.min(this.bins.count, Math.max(this.low + 1, bin)), isFinal);
    else this.setBins(Math.max(0, Math.min(this.high - 1, bin)), this.high, isFinal);
  }

  /** Sets the limits in bins: [low, high). */
  setBins(low, high, isFinal) {
    const isSame = low === this.low && high === this.high;
    this.low = low;
    this.high = high;
    const { column, first, width } = this.bins;
    this.conditions.set(column, first + low * width, first + high * width - 1);
    this.place();
    if (!isSame || isFinal) this.onChange(isFinal);
  }

  /** Sets limits so that they include the interval from `low` to `high`, in the column's unit. */
  setValues(low, high) {
    const clamp = (bin) => Math.max(0, Math.min(this.bins.count, bin));
    const first = clamp(Math.floor(this.binOf(low) + 1e-9)), last = clamp(Math.ceil(this.binOf(high) - 1e-9));
    this.setBins(Math.min(first, this.bins.count - 1), Math.max(last, first + 1), true);
  }

  reset() {
    this.low = 0;
    this.high = this.bins.count;
    this.place();
  }

  place() {
    const { column, first, width, count } = this.bins;
    const ends = [this.low, this.high];
    const edges = [this.table.lowerEdge(column, first + this.low * width), this.table.upperEdge(column, first + this.high * width - 1)];
    if (column.kind === "frame") edges[1] = Math.min(edges[1] - 1, this.table.lastFrame);
    this.handles.forEach((handle, end) => {
      handle.setAttribute("transform", `translate(${this.x(ends[end])} 0)`);
      handle.setAttribute("aria-valuenow", ends[end]);
      handle.setAttribute("aria-valuemin", 0);
      handle.setAttribute("aria-valuemax", count);
      handle.setAttribute("aria-valuetext", shortNumber(edges[end], 4));
    });
    const isActive = this.low > 0 || this.high < count;
    const from = this.low > 0 ? shortNumber(edges[0], 4) : "", to = this.high < count ? shortNumber(edges[1], 4) : "";
    this.range.textContent = !isActive ? "all" : from && to ? `${from} to ${to}` : from ? `from ${from}` : column.kind === "frame" ? `to ${to}` : `below ${to}`;
    this.element?.classList.toggle("active", isActive);
    this.shades[0].setAttribute("x", 0);
    this.shades[0].setAttribute("width", this.x(this.low));
    this.shades[1].setAttribute("x", this.x(this.high));
    this.shades[1].setAttribute("width", Math.max(0, histogramWidth - this.x(this.high)));
  }

  path(counts, top) {
    const parts = [];
    for (let bin = 0; bin < counts.length; ++bin)
      if (counts[bin] > 0) {
        const y = histogramHeight - Math.max(0.7, (histogramHeight - 3) * Math.min(1, counts[bin] / top));
        parts.push(`M${this.x(bin).toFixed(2)} ${histogramHeight}V${y.toFixed(1)}H${this.x(bin + 1).toFixed(2)}V${histogramHeight}Z`);
      }
    return parts.join("");
  }
  /** Shows the counts of all rows. */
  setAll(counts) {
    // The open cells at both ends may exceed all others: they do not set the scale.
    const inner = counts.length > 4 && this.bins.column.kind === "cells" && !this.bins.column.integer ? counts.slice(1, -1) : counts;
    this.top = Math.max(1, ...inner);
    if (Math.max(...inner) === 0) this.top = Math.max(1, ...counts);
    this.all.setAttribute("d", this.path(counts, this.top));
  }
  /** Shows the counts of the rows that fulfil the conditions. `scale`: for a part of the rows. */
  setPassing(counts, scale) {
    this.passing.setAttribute("d", this.path(scale === 1 ? counts : counts.map((count) => count * scale), this.top ?? 1));
  }
}

/** All histograms, and the counts of the rows that fulfil the conditions. */
export class Filters {
  constructor(table, conditions, onChange, onCounts) {
    this.table = table;
    this.conditions = conditions;
    this.mask = new Uint8Array(table.size);
    this.onCounts = onCounts;
    const order = ["photons", "bg", "lpx_nm", "lpx", "lpy_nm", "lpy", "lpz", "z", "sx_nm", "sx", "sy_nm", "sy", "p_value", "p_single", "frame", "channel", "group", "cluster"];
    const rank = (column) => (order.includes(column.name) ? order.indexOf(column.name) : order.length);
    const columns = table.columns.filter((column) => column.kind !== "position" && table.varies(column));
    columns.sort((a, b) => rank(a) - rank(b));
    this.bins = columns.map((column) => binsOf(table, column));
    this.histograms = this.bins.map((bins) => new Histogram(table, conditions, bins, (isFinal) => onChange(isFinal)));
  }

  named(name) {
    return this.histograms.find((histogram) => histogram.bins.column.name === name);
  }

  reset() {
    this.conditions.clear();
    this.histograms.forEach((histogram) => histogram.reset());
  }

  /** Counts all rows first, then those that fulfil the conditions. */
  async count() {
    const begun = performance.now();
    const tell = ({ counts, passing, seen }, isComplete) => {
      const scale = isComplete ? 1 : this.table.loaded / Math.max(1, seen);
      this.histograms.forEach((histogram, k) => {
        if (this.needsAll) histogram.setAll(scale === 1 ? counts[k] : counts[k].map((count) => count * scale));
        histogram.setPassing(counts[k], scale);
      });
      this.medians = this.bins.map((bins, k) => [bins.column, medianOfBins(this.table, bins, counts[k])]);
      this.onCounts({ passing: passing * scale, isComplete, medians: this.medians });
    };
    this.needsAll = this.conditions.isEmpty;
    if (!this.needsAll && !this.counted) {
      // The gray histograms of all rows, once.
      const all = await runTask("count", countRows(this.table, { evaluate: (begin, end, mask) => (mask.fill(1, begin, end), end - begin) }, this.mask, this.bins));
      if (!all) return;
      this.histograms.forEach((histogram, k) => histogram.setAll(all.counts[k]));
    }
    const result = await runTask("count", countRows(this.table, this.conditions, this.mask, this.bins, (part) => tell(part, false)));
    if (!result) return;
    this.counted = true;
    if (this.needsAll) this.allMedians = this.bins.map((bins, k) => [bins.column, medianOfBins(this.table, bins, result.counts[k])]);
    tell(result, true);
    this.lastMs = performance.now() - begun;
  }
}
