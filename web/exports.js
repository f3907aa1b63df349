// Files that the page saves: filtered rows as CSV, the view as PNG.
// SPDX-License-Identifier: MIT

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function cellText(text) {
  const plain = String(text).replace(/[\r\n]+/g, " ");
  return /[",]/.test(plain) ? `"${plain.replace(/"/g, '""')}"` : plain;
}

/** Yields between parts. Returns the text of the rows that fulfil the conditions, in the order of frames, in parts. */
export function* csvParts(table, mask, command) {
  const parts = [];
  const isSample = table.facts.stored_rows < table.facts.rows;
  parts.push(
    "# Values are rounded to the steps of the report: positions to " + `${table.step * table.perPx} ${table.unit}, other columns to about 90 steps.\n`,
    isSample ? `# A random sample: ${table.facts.stored_rows} of ${table.facts.rows} rows.\n` : "",
    `# For exact rows: ${command.replace(/[\r\n]+/g, " ")}\n`,
  );
  const { columns } = table;
  const nameOf = (column) => (column.kind === "position" ? `${column.name}_${table.unit}` : column.kind === "axial" ? "z_nm" : column.name);
  parts.push(columns.map((column) => cellText(nameOf(column))).join(",") + "\n");
  let count = 0;
  for (let row = 0; row < table.loaded; ++row) count += mask[row];
  const rows = new Uint32Array(count);
  for (let row = 0, to = 0; row < table.loaded; ++row) if (mask[row]) rows[to++] = row;
  rows.sort((a, b) => table.frame[a] - table.frame[b]);
  yield;
  const decimals = Math.max(0, Math.ceil(-Math.log10(table.step * table.perPx)) + 1);
  let lines = [];
  for (let k = 0; k < rows.length; ++k) {
    const row = rows[k];
    lines.push(
      columns
        .map((column) => {
          const value = table.value(column, row);
          if (column.kind === "position") return (value * table.perPx).toFixed(decimals);
          return Number.isNaN(value) ? "nan" : Number(value.toPrecision(6));
        })
        .join(","),
    );
    if (lines.length === 5000) {
      parts.push(lines.join("\n") + "\n");
      lines = [];
      yield;
    }
  }
  if (lines.length) parts.push(lines.join("\n") + "\n");
  return parts;
}

/** The view with its scale bar, colour bar and marks, as a canvas. */
export function canvasOfView(view) {
  view.showAgain();
  const canvas = document.createElement("canvas");
  canvas.width = view.canvas.width;
  canvas.height = view.canvas.height;
  canvas.getContext("2d").drawImage(view.canvas, 0, 0);
  view.drawOverlay(canvas, false);
  return canvas;
}
