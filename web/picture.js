// Draws rows by WebGL2: each as a Gaussian, added up in a texture of 32-bit floats, then shown with a colour map.
// Rows are drawn piece by piece. The first pieces are a random sample, so the picture is right from the beginning, with
// more noise.
// SPDX-License-Identifier: MIT
import { rgbOf } from "./colors.js";

// Compiled for what is needed: software rendering takes as long as the shader has instructions.
const rowsShader = `precision highp float;
precision highp int;
precision highp sampler2D;
layout(location = 0) in uvec2 a_xy;
layout(location = 1) in uint a_frame;
layout(location = 2) in uint a_z;
layout(location = 3) in uvec4 a_0;
layout(location = 4) in uvec4 a_1;
layout(location = 5) in uvec4 a_2;
layout(location = 6) in uvec4 a_3;
uniform ivec2 u_center;      // code at the middle of the picture
uniform vec2 u_fraction;     // and the rest of it, steps
uniform float u_scale;       // picture pixels per step
uniform vec2 u_half;         // half the size of the texture, pixels
uniform uvec4 u_low[4], u_high[4];
uniform uvec4 u_frame_z;     // lowest and highest frame, lowest and highest z
uniform uvec4 u_x_y;
uniform sampler2D u_table;   // row 0, 1: width along x, y in steps; row 2: place in the colour map
uniform sampler2D u_drift;   // steps, by frame
uniform int u_width_x, u_width_y, u_color;  // columns of cells
uniform vec2 u_color_range;  // of frames or z
uniform float u_fixed, u_min_width;         // pixels
uniform float u_max_size;
#ifndef BINNED
flat out vec4 v_shape;       // 1/variance along x and y, amplitude, size
#endif
#ifdef HUE
flat out float v_hue;
#endif
#ifdef CHANNELS
flat out vec4 v_channel;
#endif

uint code(int slot) {
  uvec4 pack = slot < 4 ? a_0 : slot < 8 ? a_1 : slot < 12 ? a_2 : a_3;
  return pack[slot & 3];
}
bool is_outside(uvec4 codes, int pack) {
  return any(lessThan(codes, u_low[pack])) || any(greaterThan(codes, u_high[pack]));
}
void main() {
  gl_PointSize = 1.0;
  gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
#ifndef BINNED
  v_shape = vec4(0.0);
#endif
#ifdef HUE
  v_hue = 0.0;
#endif
#ifdef CHANNELS
  v_channel = vec4(0.0);
#endif
  vec2 steps = vec2(ivec2(a_xy) - u_center) - u_fraction;
#ifdef DRIFT
  steps += texelFetch(u_drift, ivec2(int(a_frame) & 2047, int(a_frame) >> 11), 0).xy;
#endif
  vec2 place = steps * u_scale;
  if (any(greaterThan(abs(place), u_half))) return;
#ifdef CELL_FILTERS
  if (is_outside(a_0, 0) || is_outside(a_1, 1)) return;
#ifdef MANY_CELLS
  if (is_outside(a_2, 2) || is_outside(a_3, 3)) return;
#endif
#endif
#ifdef FILTERS
  if (a_frame < u_frame_z.x || a_frame > u_frame_z.y || a_z < u_frame_z.z || a_z > u_frame_z.w) return;
  if (a_xy.x < u_x_y.x || a_xy.x > u_x_y.y || a_xy.y < u_x_y.z || a_xy.y > u_x_y.w) return;
#endif
#ifdef HUE
#if HUE == 1
  v_hue = (float(a_frame) - u_color_range.x) / u_color_range.y;
#elif HUE == 2
  if (a_z == 65535u) return;
  v_hue = (float(a_z) - u_color_range.x) / u_color_range.y;
#else
  v_hue = texelFetch(u_table, ivec2(int(code(u_color)), 2), 0).x;
  if (v_hue < 0.0) return;
#endif
  v_hue = clamp(v_hue, 0.0, 1.0);
#endif
#ifdef CHANNELS
  v_channel[int(code(u_color)) & 3] = 1.0;
#endif
  gl_Position = vec4(place / u_half, 0.0, 1.0);
#ifndef BINNED
#ifdef OWN_WIDTH
  vec2 width = u_scale * vec2(texelFetch(u_table, ivec2(int(code(u_width_x)), 0), 0).x,
                              texelFetch(u_table, ivec2(int(code(u_width_y)), 1), 0).x);
#else
  vec2 width = vec2(u_fixed);
#endif
  width = max(width, vec2(u_min_width));
  vec2 variance = width * width + 1.0 / 12.0;  // a pixel's mean is close to a Gaussian of this variance
  float size = min(2.0 * ceil(3.3 * sqrt(max(variance.x, variance.y))) + 1.0, u_max_size);
  gl_PointSize = size;
  v_shape = vec4(1.0 / variance, inversesqrt(variance.x * variance.y) * 0.15915494, size);
#endif
}`;

const rowsFragment = `precision highp float;
#ifndef BINNED
flat in vec4 v_shape;
#endif
#ifdef HUE
flat in float v_hue;
#endif
#ifdef CHANNELS
flat in vec4 v_channel;
#endif
out vec4 color;
void main() {
#ifdef BINNED
  const float density = 1.0;
#else
  vec2 apart = (gl_PointCoord - 0.5) * v_shape.w;
  float density = v_shape.z * exp(-0.5 * dot(apart * apart, v_shape.xy));
#endif
#ifdef CHANNELS
  color = v_channel * density;
#elif defined(HUE)
  color = vec4(density, density * v_hue, 0.0, 0.0);
#else
  color = vec4(density, 0.0, 0.0, 0.0);
#endif
}`;

const shownVertex = `void main() {
  gl_Position = vec4(vec2[](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0))[gl_VertexID], 0.0, 1.0);
}`;

const shownFragment = `precision highp float;
precision highp sampler2D;
uniform sampler2D u_sums, u_map;
uniform ivec2 u_margin;
uniform int u_height;
uniform float u_gain, u_gamma;
uniform bool u_binned, u_hue, u_channels;
uniform vec3 u_channel_colors[4];
out vec4 color;
vec4 at(ivec2 place) { return texelFetch(u_sums, place, 0); }
void main() {
  // The first row of the texture is the upper edge.
  ivec2 place = u_margin + ivec2(int(gl_FragCoord.x), u_height - 1 - int(gl_FragCoord.y));
  vec4 sums = at(place);
  if (u_binned) {  // counts in pixels become Gaussians of half a pixel
    const float side = 0.106507, middle = 0.786986;
    sums = vec4(0.0);
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        sums += (x == 0 ? middle : side) * (y == 0 ? middle : side) * at(place + ivec2(x, y));
  }
  if (u_channels) {
    vec3 sum = vec3(0.0);
    for (int k = 0; k < 4; ++k) sum += u_channel_colors[k] * pow(min(sums[k] * u_gain, 1.0), u_gamma);
    color = vec4(min(sum, 1.0), 1.0);
    return;
  }
  float value = pow(clamp(sums.x * u_gain, 0.0, 1.0), u_gamma);
  if (u_hue) color = vec4(texture(u_map, vec2(sums.x > 0.0 ? clamp(sums.y / sums.x, 0.0, 1.0) * 0.996 + 0.002 : 0.0, 0.5)).rgb * value, 1.0);
  else color = vec4(texture(u_map, vec2(value * 0.996 + 0.002, 0.5)).rgb, 1.0);
}`;

function compile(gl, vertex, fragment, defines = []) {
  const program = gl.createProgram();
  const head = `#version 300 es\n${defines.map((define) => `#define ${define}\n`).join("")}`;
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, head + text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
    throw new Error(`the graphics driver refuses a program: ${gl.getProgramInfoLog(program)}`);
  const uniforms = {};
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
  for (let k = 0; k < count; ++k) {
    const name = gl.getActiveUniform(program, k).name.replace("[0]", "");
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
}

/** Pixels around the visible picture: molecules outside still reach into it. */
const pictureMargin = 48;

export class Picture {
  /** Throws an Error that says why this browser cannot draw. */
  constructor(canvas, table) {
    this.canvas = canvas;
    this.table = table;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser has no WebGL2");
    for (const extension of ["EXT_color_buffer_float", "EXT_float_blend"])
      if (!gl.getExtension(extension)) throw new Error(`the graphics driver lacks ${extension}`);
    this.gl = gl;
    this.programs = new Map(); // by their definitions
    this.shown = compile(gl, shownVertex, shownFragment);
    this.maxPoint = gl.getParameter(gl.ALIASED_POINT_SIZE_RANGE)[1];
    this.sums = gl.createTexture();
    this.target = gl.createFramebuffer();
    this.widthTable = this.newTexture();
    this.drift = this.newTexture();
    this.map = this.newTexture();
    this.hasDrift = false;
    this.makeBuffers();
    this.drawn = 0; // pieces
    this.rowsDrawn = 0;
    this.level = 0; // density that is shown at full brightness
  }

  newTexture() {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    return texture;
  }

  makeBuffers() {
    const gl = this.gl, table = this.table;
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    const add = (location, data, parts, type) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, Math.max(4, data.byteLength), gl.STATIC_DRAW);
      gl.enableVertexAttribArray(location);
      gl.vertexAttribIPointer(location, parts, type, 0, 0);
      return { buffer, data, parts };
    };
    this.buffers = [add(0, table.xy, 2, gl.UNSIGNED_INT), add(1, table.frame, 1, gl.UNSIGNED_INT)];
    if (table.z) this.buffers.push(add(2, table.z, 1, gl.UNSIGNED_SHORT));
    else gl.vertexAttribI4ui(2, 0, 0, 0, 0);
    for (let pack = 0; pack < 4; ++pack)
      if (table.packs[pack]) this.buffers.push(add(3 + pack, table.packs[pack], 4, gl.UNSIGNED_BYTE));
      else gl.vertexAttribI4ui(3 + pack, 0, 0, 0, 0);
    gl.bindVertexArray(null);
  }

  upload({ begin, end }) {
    const gl = this.gl;
    if (end === begin) return;
    for (const { buffer, data, parts } of this.buffers) {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, begin * parts * data.BYTES_PER_ELEMENT, data, begin * parts, (end - begin) * parts);
    }
  }

  /** Sets the drift in px by frame, which was subtracted from the positions. */
  setDrift(xPx, yPx) {
    const gl = this.gl, width = 2048, height = Math.max(1, Math.ceil(xPx.length / width));
    const values = new Float32Array(2 * width * height);
    for (let frame = 0; frame < width * height; ++frame) {
      const known = Math.min(frame, xPx.length - 1);
      values[2 * frame] = xPx[known] / this.table.step;
      values[2 * frame + 1] = yPx[known] / this.table.step;
    }
    gl.bindTexture(gl.TEXTURE_2D, this.drift);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32F, width, height, 0, gl.RG, gl.FLOAT, values);
    this.hasDrift = true;
  }

  /** Sets the widths in px of the cells of precision along x and y, and the place in the colour map of a column. */
  setTables(widthX, widthY, hues) {
    const gl = this.gl, values = new Float32Array(256 * 3);
    for (let cell = 0; cell < 256; ++cell) {
      values[cell] = (widthX?.[cell] ?? 0) / this.table.step;
      values[256 + cell] = (widthY?.[cell] ?? 0) / this.table.step;
      values[512 + cell] = hues?.[cell] ?? -1; // not drawn
    }
    gl.bindTexture(gl.TEXTURE_2D, this.widthTable);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, 256, 3, 0, gl.RED, gl.FLOAT, values);
  }

  setMap(colors) {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, this.map);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colors);
  }

  /**
   * Begins a new picture. `view`: {x, y: middle in px; scale: picture pixels per px; width, height: picture pixels}.
   * `style`: {widthX, widthY: columns or null; fixedPx: width in px if null; color: "density", "frame", "z", "channel"
   * or a column; range: of frames or z; withDrift}.
   */
  begin(view, style, conditions) {
    const gl = this.gl, table = this.table;
    const width = view.width + 2 * pictureMargin, height = view.height + 2 * pictureMargin;
    this.isChannels = style.color === "channel";
    this.isHue = style.color !== "density" && !this.isChannels;
    // Molecules much smaller than a pixel are counted in pixels, which are blurred when shown.
    this.isBinned = style.typicalPx * view.scale < 0.3;
    const format = this.isChannels ? gl.RGBA32F : this.isHue ? gl.RG32F : gl.R32F;
    if (this.width !== width || this.height !== height || this.format !== format) {
      this.width = width;
      this.height = height;
      this.format = format;
      gl.bindTexture(gl.TEXTURE_2D, this.sums);
      gl.texImage2D(gl.TEXTURE_2D, 0, format, width, height, 0, this.isChannels ? gl.RGBA : this.isHue ? gl.RG : gl.RED, gl.FLOAT, null);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
      gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.sums, 0);
      this.canvas.width = view.width;
      this.canvas.height = view.height;
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);

    const ranges = [...conditions.ranges.keys()];
    const defines = [];
    if (this.isBinned) defines.push("BINNED");
    else if (style.widthX) defines.push("OWN_WIDTH");
    if (ranges.some((column) => column.kind === "cells")) defines.push("CELL_FILTERS");
    if (ranges.some((column) => column.slot >= 8)) defines.push("MANY_CELLS");
    if (ranges.some((column) => column.kind !== "cells")) defines.push("FILTERS");
    if (this.isChannels) defines.push("CHANNELS");
    if (this.isHue) defines.push(`HUE ${style.color === "frame" ? 1 : style.color === "z" ? 2 : 3}`);
    if (style.withDrift && this.hasDrift) defines.push("DRIFT");
    const key = defines.join();
    if (!this.programs.has(key)) this.programs.set(key, compile(gl, rowsShader, rowsFragment, defines));
    this.rows = this.programs.get(key);
    const { program, uniforms } = this.rows;
    gl.useProgram(program);
    const center = (axis, px) => px / table.step - axis.first - 0.5;
    const cx = center(table.x, view.x), cy = center(table.y, view.y);
    gl.uniform2i(uniforms.u_center, Math.round(cx), Math.round(cy));
    gl.uniform2f(uniforms.u_fraction, cx - Math.round(cx), cy - Math.round(cy));
    const scale = view.scale * table.step;
    gl.uniform1f(uniforms.u_scale, scale);
    gl.uniform2f(uniforms.u_half, width / 2, height / 2);
    const low = new Uint32Array(16), high = new Uint32Array(16).fill(255);
    for (const column of table.cells) {
      const range = conditions.of(column);
      if (range) [low[column.slot], high[column.slot]] = range;
    }
    gl.uniform4uiv(uniforms.u_low, low);
    gl.uniform4uiv(uniforms.u_high, high);
    const all = [0, 4294967295];
    const rangeOf = (name) => (table.named[name] && conditions.of(table.named[name])) || all;
    gl.uniform4uiv(uniforms.u_frame_z, new Uint32Array([...rangeOf("frame"), ...rangeOf("z")]));
    gl.uniform4uiv(uniforms.u_x_y, new Uint32Array([...rangeOf("x"), ...rangeOf("y")]));
    gl.uniform1i(uniforms.u_width_x, style.widthX ? style.widthX.slot : 0);
    gl.uniform1i(uniforms.u_width_y, style.widthX ? (style.widthY ?? style.widthX).slot : 0);
    gl.uniform1f(uniforms.u_fixed, style.fixedPx * view.scale);
    gl.uniform1f(uniforms.u_min_width, 0.5);
    gl.uniform1f(uniforms.u_max_size, this.maxPoint);
    const slot = this.isChannels ? table.named.channel.slot : style.color.slot;
    gl.uniform1i(uniforms.u_color, slot ?? 0);
    gl.uniform2f(uniforms.u_color_range, style.range[0], Math.max(style.range[1] - style.range[0], 1e-9));
    gl.uniform1i(uniforms.u_table, 0);
    gl.uniform1i(uniforms.u_drift, 1);
    this.drawn = 0;
    this.rowsDrawn = 0;
  }

  /** Adds the next pieces to the picture. */
  add(pieces) {
    const gl = this.gl, table = this.table;
    const first = table.pieces[this.drawn];
    const end = Math.min(this.drawn + pieces, table.pieces.length);
    if (!first || end === this.drawn) return;
    const last = table.pieces[end - 1];
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, this.width, this.height);
    gl.useProgram(this.rows.program);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.drift);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.widthTable);
    gl.bindVertexArray(this.array);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE);
    if (last.end > first.begin) gl.drawArrays(gl.POINTS, first.begin, last.end - first.begin);
    gl.bindVertexArray(null);
    this.drawn = end;
    this.rowsDrawn = last.end;
  }

  get isComplete() {
    return this.drawn === this.table.pieces.length;
  }

  /** Shows what has been added up. `look`: {brightness, gamma, channelColors}. */
  show(look) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.disable(gl.BLEND);
    const { program, uniforms } = this.shown;
    gl.useProgram(program);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.map);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.sums);
    gl.uniform1i(uniforms.u_sums, 0);
    gl.uniform1i(uniforms.u_map, 1);
    gl.uniform2i(uniforms.u_margin, pictureMargin, pictureMargin);
    gl.uniform1i(uniforms.u_height, this.canvas.height);
    const share = this.rowsDrawn / Math.max(1, this.table.size);
    gl.uniform1f(uniforms.u_gain, this.level > 0 ? look.brightness / (this.level * Math.max(share, 1e-9)) : 0);
    gl.uniform1f(uniforms.u_gamma, look.gamma);
    gl.uniform1i(uniforms.u_binned, this.isBinned);
    gl.uniform1i(uniforms.u_hue, this.isHue);
    gl.uniform1i(uniforms.u_channels, this.isChannels);
    gl.uniform3fv(uniforms.u_channel_colors, look.channelColors.flatMap(rgbOf));
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Returns the sums of the visible picture, row by row from above: densities in rows per pixel (channels: the sum). */
  densities() {
    const gl = this.gl, width = this.canvas.width, height = this.canvas.height;
    const all = new Float32Array(4 * width * height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.readPixels(pictureMargin, pictureMargin, width, height, gl.RGBA, gl.FLOAT, all);
    const sums = new Float32Array(width * height);
    for (let k = 0, at = 0; k < sums.length; ++k, at += 4)
      sums[k] = this.isChannels ? all[at] + all[at + 1] + all[at + 2] + all[at + 3] : all[at];
    return sums;
  }

  /** Chooses the density of full brightness: 0.5 % of the pixels with molecules are brighter, as in `glint render`. */
  chooseLevel() {
    const densities = this.densities();
    const share = this.rowsDrawn / Math.max(1, this.table.size);
    const bins = new Uint32Array(1024); // 16 bins per factor of two, from 2^-32
    let count = 0;
    for (const density of densities)
      if (density > 1e-3) {
        ++count;
        ++bins[Math.max(0, Math.min(1023, Math.floor((Math.log2(density) + 32) * 16)))];
      }
    let above = 0, bin = 1023;
    while (bin > 0 && above + bins[bin] <= 0.005 * count) above += bins[bin--];
    if (count > 0) this.level = (2 ** ((bin + 1) / 16 - 32) * (this.isBinned ? 0.62 : 1)) / Math.max(share, 1e-9);
  }

  /** Resolves when the graphics processor has finished what was requested. */
  finished() {
    const gl = this.gl, sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return new Promise((resolve) => {
      const poll = () => {
        const state = gl.clientWaitSync(sync, 0, 0);
        if (state === gl.TIMEOUT_EXPIRED) return setTimeout(poll, 3);
        gl.deleteSync(sync);
        resolve();
      };
      poll();
    });
  }
}
