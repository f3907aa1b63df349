// Plots as SVG: axes, lines, bars and error bands. One path for each curve, whatever its number of points.
// SPDX-License-Identifier: MIT
import { logTicksBetween, shortNumber, ticksBetween } from "./text.js";

export function svg(tag, attributes = {}, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values)
    if (Number.isFinite(value)) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  return [low, high];
}

const plotMargin = { left: 62, right: 14, top: 12, bottom: 42 };

/**
 * Draws a plot of `curves`: {x, y, kind: "line" | "bars" | "band" | "points", low, high, color, name, dash}. Options:
 * title, xLabel, yLabel, width, height, xRange, yRange, xLog.
 */
export function plot(curves, options) {
  const width = options.width ?? 460, height = options.height ?? 250;
  const named = curves.filter((curve) => curve.name);
  const left = plotMargin.left, right = width - plotMargin.right, top = plotMargin.top + (named.length ? 18 : 0), bottom = height - plotMargin.bottom;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img" });
  root.append(svg("title", {}, options.title ?? ""));
  const xs = extent(curves.flatMap((curve) => [...curve.x]));
  const ys = extent(curves.flatMap((curve) => (curve.kind === "band" ? [...curve.low, ...curve.high] : [...curve.y])));
  let [x0, x1] = options.xRange ?? xs;
  let [y0, y1] = options.yRange ?? ys;
  if (!Number.isFinite(x0)) [x0, x1] = [0, 1];
  if (!Number.isFinite(y0)) [y0, y1] = [0, 1];
  if (curves.some((curve) => curve.kind === "bars")) y0 = Math.min(0, y0);
  if (!options.yRange) {
    if (y0 < 0 && y0 > -0.02 * y1) y0 = 0;
    if (y0 >= 0 && y0 < 0.4 * y1) y0 = 0;
    const pad = 0.06 * (y1 - y0 || Math.abs(y1) || 1);
    y1 += pad;
    if (y0 !== 0) y0 -= pad;
  }
  if (x0 === x1) [x0, x1] = [x0 - 0.5, x1 + 0.5];
  const isLog = options.xLog && x0 > 0;
  const xAt = isLog
    ? (x) => left + ((right - left) * Math.log(x / x0)) / Math.log(x1 / x0)
    : (x) => left + ((right - left) * (x - x0)) / (x1 - x0);
  const yAt = (y) => bottom - ((bottom - top) * (y - y0)) / (y1 - y0);

  for (const tick of ticksBetween(y0, y1, 4)) {
    root.append(svg("line", { x1: left, x2: right, y1: yAt(tick), y2: yAt(tick), class: "grid" }));
    root.append(svg("text", { x: left - 7, y: yAt(tick) + 4, class: "tick end" }, shortNumber(tick)));
  }
  for (const tick of isLog ? logTicksBetween(x0, x1) : ticksBetween(x0, x1, 6)) {
    root.append(svg("line", { x1: xAt(tick), x2: xAt(tick), y1: bottom, y2: bottom + 4, class: "axis" }));
    root.append(svg("text", { x: xAt(tick), y: bottom + 17, class: "tick middle" }, shortNumber(tick)));
  }
  const clipId = `clip-${(plot.count = (plot.count ?? 0) + 1)}`;
  const clip = svg("clipPath", { id: clipId });
  clip.append(svg("rect", { x: left, y: top, width: right - left, height: bottom - top }));
  root.append(clip);
  const inside = svg("g", { "clip-path": `url(#${clipId})` });
  root.append(inside);
  for (const curve of curves) inside.append(curveOf(curve, xAt, yAt, y0));
  root.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  root.append(svg("text", { x: (left + right) / 2, y: height - 6, class: "label middle" }, options.xLabel ?? ""));
  const yLabel = svg("text", { x: 0, y: 0, class: "label middle" }, options.yLabel ?? "");
  yLabel.setAttribute("transform", `translate(13 ${(top + bottom) / 2}) rotate(-90)`);
  root.append(yLabel);
  let end = right; // names stand above the plot, from the right
  for (const curve of [...named].reverse()) {
    const y = plotMargin.top;
    const line = svg("line", { x1: end - curve.name.length * 6.6 - 26, x2: end - curve.name.length * 6.6 - 8, y1: y, y2: y, class: "curve" });
    line.style.stroke = curve.color;
    if (curve.kind === "bars") line.style.strokeWidth = "8";
    if (curve.dash) line.setAttribute("stroke-dasharray", curve.dash);
    root.append(line, svg("text", { x: end - curve.name.length * 6.6 - 3, y: y + 4, class: "tick" }, curve.name));
    end -= curve.name.length * 6.6 + 40;
  }
  return root;
}

function curveOf(curve, xAt, yAt, y0) {
  const parts = [];
  const n = curve.x.length;
  const put = (x, y) => `${xAt(x).toFixed(1)} ${yAt(y).toFixed(1)}`;
  if (curve.kind === "bars") {
    const half = n > 1 ? (curve.x[1] - curve.x[0]) / 2 : 0.5;
    for (let k = 0; k < n; ++k) {
      const begin = curve.edges ? curve.edges[k] : curve.x[k] - half, end = curve.edges ? curve.edges[k + 1] : curve.x[k] + half;
      if (curve.y[k] > 0) parts.push(`M${put(begin, y0)}V${yAt(curve.y[k]).toFixed(1)}H${xAt(end).toFixed(1)}V${yAt(y0).toFixed(1)}Z`);
    }
  } else if (curve.kind === "points") {
    for (let k = 0; k < n; ++k) if (Number.isFinite(curve.y[k])) parts.push(`M${put(curve.x[k], curve.y[k])}h0`);
  } else if (curve.kind === "band") {
    const back = [];
    for (let k = 0; k < n; ++k) {
      if (!Number.isFinite(curve.low[k]) || !Number.isFinite(curve.high[k])) continue;
      parts.push(`${parts.length ? "L" : "M"}${put(curve.x[k], curve.high[k])}`);
      back.unshift(`L${put(curve.x[k], curve.low[k])}`);
    }
    parts.push(...back, parts.length ? "Z" : "");
  } else {
    let isOpen = false;
    for (let k = 0; k < n; ++k) {
      const isNumber = Number.isFinite(curve.y[k]);
      if (isNumber) parts.push(`${isOpen ? "L" : "M"}${put(curve.x[k], curve.y[k])}`);
      isOpen = isNumber;
    }
  }
  const path = svg("path", { d: parts.join(""), class: `curve ${curve.kind}` });
  if (curve.kind === "bars" || curve.kind === "band") path.style.fill = curve.color;
  else path.style.stroke = curve.color;
  if (curve.dash) path.setAttribute("stroke-dasharray", curve.dash);
  return path;
}

/** Thins a long curve to at most `count` means of neighbouring values. */
export function thinned(values, count) {
  const step = Math.max(1, Math.ceil(values.length / count));
  const x = [], y = [];
  for (let begin = 0; begin < values.length; begin += step) {
    const end = Math.min(values.length, begin + step);
    let sum = 0;
    for (let k = begin; k < end; ++k) sum += values[k];
    x.push((begin + end - 1) / 2);
    y.push(sum / (end - begin));
  }
  return { x, y, step };
}
