// Numbers and elements as text. Text of tables and metadata reaches the page only by textContent.
// SPDX-License-Identifier: MIT

/** Creates an element: make("button", {class: "tool", text: "Pan"}, child...). Attributes and text only, no HTML. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

/** 1234567 as "1,234,567". */
export function withCommas(number) {
  return Math.round(number)
    .toString()
    .replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A number with `digits` significant digits, without an exponent in the usual range. */
export function shortNumber(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "-";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= 6 || size < -4) {
    const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`;
  }
  if (size >= digits - 1) return withSign(Math.round(value));
  return String(Number(value.toFixed(digits - 1 - size)));
}

function withSign(whole) {
  return (whole < 0 ? "-" : "") + withCommas(Math.abs(whole));
}

/** "(5.37 ± 0.03) nm"; a value and its error with fitting digits. */
export function withError(value, error, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "not determined";
  if (!(error > 0)) return `${shortNumber(value, 4)} ${unit}`;
  const decimals = Math.max(0, Math.min(6, 1 - Math.floor(Math.log10(error))));
  return `(${value.toFixed(decimals)} ± ${error.toFixed(decimals)}) ${unit}`;
}

/** Returns a length in nm with a readable unit; in px if the pixel size is unknown. */
export function lengthText(length, unit) {
  if (unit !== "nm") return `${shortNumber(length, 4)} ${unit}`;
  if (Math.abs(length) >= 1e6) return `${shortNumber(length / 1e6, 4)} mm`;
  if (Math.abs(length) >= 1e3) return `${shortNumber(length / 1e3, 4)} µm`;
  return `${shortNumber(length, 4)} nm`;
}

/** Returns round numbers between low and high, about `count` of them. */
export function ticksBetween(low, high, count) {
  if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) return [low];
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** Ticks of a logarithmic axis: powers of ten, with 2 and 5 if there are few. */
export function logTicksBetween(low, high) {
  const ticks = [];
  if (!(low > 0 && high > low && high < Infinity)) return [low];
  const decades = Math.log10(high / low);
  const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const factor of factors) {
      const tick = Number((factor * 10 ** power).toPrecision(6));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  const step = Math.ceil(ticks.length / 6);
  return ticks.filter((_, k) => k % step === 0);
}

/** Text for a shell: in single quotes unless it is a plain word. */
export function shellWord(text) {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
