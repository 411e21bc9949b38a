/** One part of a message: its own header, its body as bytes, and what is nested in it (RFC 2045, RFC 2046). */
export interface MimePart {
  readonly header: Buffer;
  readonly body: Buffer;
  readonly fields: ReadonlyMap<string, string>;
  /** Lower case: `text`, `plain`. */
  readonly type: string;
  readonly subtype: string;
  readonly params: ReadonlyMap<string, string>;
  readonly children: readonly MimePart[];
}

const MAX_DEPTH = 20;

export function parseMime(raw: Buffer, depth = 0): MimePart {
  const end = endOfHeader(raw);
  const header = raw.subarray(0, end);
  const body = raw.subarray(end);
  const fields = parseFields(header.toString('latin1'));
  const [value = '', ...rest] = splitParameters(fields.get('content-type') ?? 'text/plain; charset=us-ascii');
  const [type = 'text', subtype = 'plain'] = value.trim().toLowerCase().split('/');
  const params = parseParameters(rest);
  const boundary = params.get('boundary');
  const nested = depth < MAX_DEPTH;
  const children =
    nested && type === 'multipart' && boundary !== undefined
      ? splitParts(body, boundary).map((part) => parseMime(part, depth + 1))
      : nested && type === 'message' && subtype === 'rfc822'
        ? [parseMime(body, depth + 1)]
        : [];
  return { header, body, fields, type, subtype, params, children };
}

/** Unfolded fields by lower-case name; of repeated ones the first. */
export function parseFields(header: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of header.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

export function splitParameters(value: string): string[] {
  return value.match(/(?:"(?:\\.|[^"\\])*"|[^;"])+/g) ?? [];
}

export function parseParameters(texts: readonly string[]): Map<string, string> {
  const params = new Map<string, string>();
  for (const text of texts) {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined)
      params.set(name.toLowerCase(), value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1'));
  }
  return params;
}

/** The blank line belongs to the header. */
function endOfHeader(raw: Buffer): number {
  if (raw.subarray(0, 2).equals(Buffer.from('\r\n'))) return 2;
  const at = raw.indexOf('\r\n\r\n');
  return at < 0 ? raw.length : at + 4;
}

function splitParts(body: Buffer, boundary: string): Buffer[] {
  const parts: Buffer[] = [];
  const mark = Buffer.from(`--${boundary}`, 'latin1');
  let start: number | undefined;
  for (let at = body.indexOf(mark); at >= 0; at = body.indexOf(mark, at + mark.length)) {
    if (at > 0 && body[at - 1] !== 0x0a) continue;
    if (start !== undefined) parts.push(body.subarray(start, Math.max(start, at - 2)));
    const after = at + mark.length;
    if (body.subarray(after, after + 2).toString('latin1') === '--') return parts;
    const lineEnd = body.indexOf('\n', after);
    if (lineEnd < 0) return parts;
    start = lineEnd + 1;
  }
  return parts;
}
