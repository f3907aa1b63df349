// Drawn over the picture: scale bar, colour bar and marks.
// SPDX-License-Identifier: MIT
import { lengthText, logTicksBetween, shortNumber, ticksBetween } from "./text.js";

const overlayFont = (size) => `600 ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;

/** Text with a dark rim, readable on any picture. */
function rimmedText(context, text, x, y, ratio) {
  context.lineWidth = 3 * ratio;
  context.lineJoin = "round";
  context.strokeStyle = "rgba(0, 0, 0, 0.75)";
  context.strokeText(text, x, y);
  context.fillStyle = "#fff";
  context.fillText(text, x, y);
}

/** Returns a round length of about `target`, same unit. */
export function roundLength(target) {
  const power = 10 ** Math.floor(Math.log10(target));
  return [5, 2, 1].map((factor) => factor * power).find((length) => length <= target * 1.0001) ?? power;
}

/** Draws a bar in the lower left corner. `pixels`: picture pixels per unit. */
export function drawScaleBar(context, width, height, pixelsPerUnit, unit, ratio) {
  const length = roundLength(Math.min(0.25 * width, 220 * ratio) / pixelsPerUnit);
  const pixels = length * pixelsPerUnit;
  const x = 18 * ratio, y = height - 20 * ratio, thick = 5 * ratio;
  context.fillStyle = "rgba(0, 0, 0, 0.6)";
  context.fillRect(x - 2 * ratio, y - 2 * ratio, pixels + 4 * ratio, thick + 4 * ratio);
  context.fillStyle = "#fff";
  context.fillRect(x, y, pixels, thick);
  context.font = overlayFont(13 * ratio);
  context.textAlign = "left";
  context.textBaseline = "bottom";
  rimmedText(context, lengthText(length, unit), x, y - 6 * ratio, ratio);
  return length;
}

/** Draws a colour bar in the lower right corner. `bar`: {label, low, high, log, colors} or {label, names}. */
export function drawColorBar(context, width, height, bar, ratio) {
  context.textBaseline = "middle";
  if (bar.names) {
    context.font = overlayFont(13 * ratio);
    context.textAlign = "right";
    bar.names.forEach(([name, color], k) => {
      const y = height - (20 + 20 * (bar.names.length - 1 - k)) * ratio;
      context.fillStyle = color;
      context.fillRect(width - 28 * ratio, y - 6 * ratio, 12 * ratio, 12 * ratio);
      rimmedText(context, name.length > 40 ? `${name.slice(0, 39)}…` : name, width - 36 * ratio, y, ratio);
    });
    return;
  }
  const long = Math.min(220 * ratio, 0.4 * width), thick = 10 * ratio;
  const x = width - long - 26 * ratio, y = height - 36 * ratio;
  context.fillStyle = "rgba(0, 0, 0, 0.6)";
  context.fillRect(x - ratio, y - ratio, long + 2 * ratio, thick + 2 * ratio);
  for (let k = 0; k < 256; ++k) {
    context.fillStyle = `rgb(${bar.colors[4 * k]}, ${bar.colors[4 * k + 1]}, ${bar.colors[4 * k + 2]})`;
    context.fillRect(x + (long * k) / 256, y, long / 256 + 1, thick);
  }
  context.font = overlayFont(12 * ratio);
  context.textAlign = "right";
  rimmedText(context, bar.label, x + long, y - 11 * ratio, ratio);
  context.textAlign = "center";
  const ticks = bar.log ? logTicksBetween(bar.low, bar.high) : ticksBetween(bar.low, bar.high, 4);
  for (const tick of ticks) {
    const share = bar.log ? Math.log(tick / bar.low) / Math.log(bar.high / bar.low) : (tick - bar.low) / (bar.high - bar.low);
    if (!(share >= -0.001 && share <= 1.001)) continue;
    context.fillStyle = "#fff";
    context.fillRect(x + share * long - 0.5 * ratio, y + thick, ratio, 4 * ratio);
    rimmedText(context, shortNumber(tick), x + share * long, y + thick + 12 * ratio, ratio);
  }
}

/** Draws the marks of measurements. `toPicture([x, y])`: px to picture pixels. */
export function drawMarks(context, marks, toPicture, ratio) {
  for (const mark of marks) {
    context.lineWidth = 2 * ratio;
    context.strokeStyle = mark.isActive ? "#ffd23f" : "#7fe0ff";
    context.shadowColor = "#000";
    context.shadowBlur = 3 * ratio;
    const [ax, ay] = toPicture(mark.from), [bx, by] = toPicture(mark.to);
    context.beginPath();
    if (mark.kind === "region") {
      context.rect(Math.min(ax, bx), Math.min(ay, by), Math.abs(bx - ax), Math.abs(by - ay));
    } else {
      context.moveTo(ax, ay);
      context.lineTo(bx, by);
      const length = Math.hypot(bx - ax, by - ay) || 1;
      const half = mark.kind === "profile" ? mark.halfWidth : 5 * ratio;
      const nx = (-(by - ay) / length) * half, ny = ((bx - ax) / length) * half;
      for (const [x, y] of [[ax, ay], [bx, by]]) {
        context.moveTo(x - nx, y - ny);
        context.lineTo(x + nx, y + ny);
      }
      if (mark.kind === "profile") {
        context.moveTo(ax + nx, ay + ny);
        context.lineTo(bx + nx, by + ny);
        context.moveTo(ax - nx, ay - ny);
        context.lineTo(bx - nx, by - ny);
      }
    }
    context.stroke();
    context.shadowBlur = 0;
    if (mark.label) {
      context.font = overlayFont(13 * ratio);
      context.textAlign = "left";
      context.textBaseline = "bottom";
      rimmedText(context, mark.label, Math.max(ax, bx) + 6 * ratio, Math.min(ay, by) - 2 * ratio, ratio);
    }
  }
}
