// The source of the page's data: blocks of text in this file. A server of tiles can take its place with the same
// functions.
// SPDX-License-Identifier: MIT

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; ++k) bytes[k] = text.charCodeAt(k);
  return bytes;
}

/** Returns a block once the browser has read it completely, or null if there is none. Blocks arrive one by one. */
async function blockOf(kind, number = 0) {
  const blocks = document.getElementsByClassName(kind);
  for (;;) {
    const isRead = document.readyState !== "loading";
    const block = blocks[number];
    if (block && (isRead || block.nextElementSibling)) return block;
    if (isRead) return null;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export const inlineSource = {
  async facts() {
    const block = await blockOf("data-facts");
    if (!block) throw new Error("the file is incomplete: it has no facts");
    return JSON.parse(block.textContent);
  },
  /** Returns the bytes of a piece of rows. The text is then released. */
  async piece(number) {
    const block = await blockOf("data-rows", number);
    if (!block) throw new Error(`the file is incomplete: piece ${number + 1} of the rows is missing`);
    const bytes = bytesOf(block.textContent);
    block.textContent = "";
    return inflate(bytes);
  },
  async frame(number) {
    const block = await blockOf("data-frame", number);
    return block ? inflate(bytesOf(block.textContent)) : null;
  },
  async still() {
    const block = await blockOf("data-still");
    return block ? `data:image/png;base64,${block.textContent}` : null;
  },
};
