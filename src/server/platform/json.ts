/** Parses JSON from callers and upstreams: at most 64 levels deep, no keys that reach into prototypes. Throws SyntaxError. */
export function parseJson(source: string | Buffer, limits: { readonly maxDepth?: number } = {}): unknown {
  const text = typeof source === 'string' ? source : source.toString('utf8');
  const { maxDepth = 64 } = limits;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const sign = text.charCodeAt(index);
    if (inString) {
      if (sign === 0x5c) index += 1;
      else if (sign === 0x22) inString = false;
    } else if (sign === 0x22) inString = true;
    else if (sign === 0x7b || sign === 0x5b) {
      depth += 1;
      if (depth > maxDepth) throw new SyntaxError('too deep');
    } else if (sign === 0x7d || sign === 0x5d) depth -= 1;
  }
  return JSON.parse(text);
}
