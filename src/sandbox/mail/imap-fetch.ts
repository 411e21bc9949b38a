import type { StoredMessage } from './mail-store.ts';

const MACROS: Readonly<Record<string, readonly string[]>> = {
  ALL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE'],
  FAST: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE'],
  FULL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY'],
};

interface FetchedItems {
  /** Latin-1 text, so that each byte of the message is one character. */
  readonly text: string;
  /** Whether a body was read without PEEK. */
  readonly seen: boolean;
}

/** Data items of one message (RFC 3501 section 7.4.2). */
export function fetchItems(message: StoredMessage, items: readonly string[]): FetchedItems {
  const root = parseMime(message.raw);
  let seen = false;
  const texts = items
    .flatMap((item) => MACROS[item.toUpperCase()] ?? [item])
    .map((item) => {
      const name = item.toUpperCase();
      if (name === 'UID') return `UID ${message.uid}`;
      if (name === 'FLAGS') return `FLAGS (${[...message.flags].join(' ')})`;
      if (name === 'INTERNALDATE') return `INTERNALDATE "${imapDate(message.receivedAt)}"`;
      if (name === 'RFC822.SIZE') return `RFC822.SIZE ${message.raw.length}`;
      if (name === 'ENVELOPE') return `ENVELOPE ${envelope(root)}`;
      if (name === 'BODYSTRUCTURE') return `BODYSTRUCTURE ${structure(root, true)}`;
      if (name === 'BODY') return `BODY ${structure(root, false)}`;
      if (name === 'RFC822' || name === 'RFC822.TEXT') seen = true;
      if (name === 'RFC822') return `RFC822 ${literal(message.raw)}`;
      if (name === 'RFC822.HEADER') return `RFC822.HEADER ${literal(root.header)}`;
      if (name === 'RFC822.TEXT') return `RFC822.TEXT ${literal(root.body)}`;
      const [, peek, section = '', from, length] = /^BODY(\.PEEK)?\[(.*)\](?:<(\d+)\.(\d+)>)?$/i.exec(item) ?? [];
      if (!/^BODY(\.PEEK)?\[/i.test(item)) throw new BadCommand(`unknown data item ${item}`);
      if (peek === undefined) seen = true;
      const bytes = sectionOf(message.raw, root, section);
      const start = from === undefined ? 0 : Number(from);
      const cut = from === undefined ? bytes : bytes.subarray(start, start + Number(length));
      return `BODY[${section}]${from === undefined ? '' : `<${start}>`} ${literal(cut)}`;
    });
  return { text: texts.join(' '), seen };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function imapDate(date: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${two(date.getUTCDate())}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}

const literal = (bytes: Buffer): string => `{${bytes.length}}\r\n${bytes.toString('latin1')}`;

function sectionOf(raw: Buffer, root: MimePart, section: string): Buffer {
  const [, numbers = '', rest = ''] = /^((?:\d+(?:\.|$))*)(.*)$/s.exec(section) ?? [];
  let part = root;
  const path = numbers.split('.').filter((number) => number !== '');
  for (const number of path) {
    const holder = part.type === 'message' && part.children[0] !== undefined ? part.children[0] : part;
    const child = holder.type === 'multipart' ? holder.children[Number(number) - 1] : holder;
    if (child === undefined) return Buffer.alloc(0);
    part = child;
  }
  const what = rest.toUpperCase();
  if (what === '') return path.length === 0 ? raw : part.body;
  if (what === 'MIME') return part.header;
  const message = path.length > 0 && part.type === 'message' ? (part.children[0] ?? part) : part;
  if (what === 'HEADER') return message.header;
  if (what === 'TEXT') return message.body;
  const [, not, names] = /^HEADER\.FIELDS(\.NOT)?\s*\((.*)\)$/is.exec(rest) ?? [];
  if (names === undefined) throw new BadCommand(`unknown section ${section}`);
  return headerLines(message.header, new Set(names.toLowerCase().replaceAll('"', '').split(/\s+/)), not !== undefined);
}

function headerLines(header: Buffer, names: ReadonlySet<string>, inverted: boolean): Buffer {
  const lines = header.toString('latin1').split(/\r\n(?![ \t])/);
  const kept = lines.filter(
    (line) => line !== '' && names.has(line.split(':', 1)[0]?.toLowerCase() ?? '') !== inverted,
  );
  return Buffer.from([...kept, '', ''].join('\r\n'), 'latin1');
}

function envelope({ fields }: MimePart): string {
  const from = fields.get('from');
  const addresses = [from, fields.get('sender') ?? from, fields.get('reply-to') ?? from].concat(
    ['to', 'cc', 'bcc'].map((name) => fields.get(name)),
  );
  const ends = ['in-reply-to', 'message-id'].map((name) => quote(fields.get(name)));
  return `(${[quote(fields.get('date')), quote(fields.get('subject')), ...addresses.map(addressList), ...ends].join(' ')})`;
}

function addressList(value: string | undefined): string {
  const found = [
    ...(value ?? '').matchAll(/(?:"((?:\\.|[^"\\])*)"|([^",<]*?))\s*<([^<>\s]+)>|([^\s,<>"]+@[^\s,<>"]+)/g),
  ];
  if (found.length === 0) return 'NIL';
  const texts = found.map(([, quoted, name, angled, bare]) => {
    const [local = '', domain] = (angled ?? bare ?? '').split(/@(?=[^@]*$)/);
    const shown = quoted ?? name?.trim();
    return `(${quote(shown === '' ? undefined : shown)} NIL ${quote(local)} ${quote(domain)})`;
  });
  return `(${texts.join('')})`;
}

function structure(part: MimePart, extended: boolean): string {
  const extras = extended ? extensions(part) : '';
  if (part.type === 'multipart' && part.children.length > 0) {
    const children = part.children.map((child) => structure(child, extended)).join('');
    const params = extended ? ` ${parameters(part.params)}` : '';
    return `(${children} ${quote(part.subtype.toUpperCase())}${params}${extras})`;
  }
  const { fields } = part;
  const basics = [
    quote(part.type.toUpperCase()),
    quote(part.subtype.toUpperCase()),
    parameters(part.params),
    quote(fields.get('content-id')),
    quote(fields.get('content-description')),
    quote((fields.get('content-transfer-encoding') ?? '7bit').toUpperCase()),
    String(part.body.length),
  ];
  const lines = String(part.body.toString('latin1').split('\n').length - 1);
  const inner = part.children[0];
  if (part.type === 'message' && inner !== undefined) basics.push(envelope(inner), structure(inner, extended), lines);
  if (part.type === 'text') basics.push(lines);
  return `(${basics.join(' ')}${extended ? ' NIL' : ''}${extras})`;
}

function extensions({ fields }: MimePart): string {
  const [kind, ...rest] = splitParameters(fields.get('content-disposition') ?? '');
  const disposition =
    kind === undefined ? 'NIL' : `(${quote(kind.trim().toUpperCase())} ${parameters(parseParameters(rest))})`;
  return ` ${disposition} ${quote(fields.get('content-language'))} ${quote(fields.get('content-location'))}`;
}

function parameters(params: ReadonlyMap<string, string>): string {
  if (params.size === 0) return 'NIL';
  return `(${[...params].map(([name, value]) => `${quote(name.toUpperCase())} ${quote(value)}`).join(' ')})`;
}

const headerFieldsOf = (message: StoredMessage): Map<string, string> =>
  parseFields(parseMime(message.raw).header.toString('latin1'));

type SearchPredicate = (message: StoredMessage, sequence: number) => boolean;

const FLAG_KEYS: Readonly<Record<string, [flag: string, set: boolean]>> = {
  ANSWERED: ['\\Answered', true],
  DELETED: ['\\Deleted', true],
  DRAFT: ['\\Draft', true],
  FLAGGED: ['\\Flagged', true],
  SEEN: ['\\Seen', true],
  UNANSWERED: ['\\Answered', false],
  UNDELETED: ['\\Deleted', false],
  UNDRAFT: ['\\Draft', false],
  UNFLAGGED: ['\\Flagged', false],
  UNSEEN: ['\\Seen', false],
};
const HEADER_KEYS = new Set(['FROM', 'TO', 'CC', 'BCC', 'SUBJECT']);

/** Compiles the keys of a SEARCH into one predicate; all keys must match (RFC 3501 section 6.4.4). */
export function parseSearch(tokens: readonly Token[], highest: { sequence: number; uid: number }): SearchPredicate {
  const rest = [...tokens];
  const next = () => textOf(rest.shift());
  const contains = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());
  const dayOf = (text: string) => {
    const at = Date.parse(`${text.replaceAll('-', ' ')} UTC`);
    if (Number.isNaN(at)) throw new BadCommand('not a date');
    return at;
  };
  const readKey = (): SearchPredicate => {
    const first = rest.shift();
    if (Array.isArray(first)) return parseSearch(first, highest);
    const key = textOf(first).toUpperCase();
    const flag = FLAG_KEYS[key];
    if (flag !== undefined) return (message) => message.flags.has(flag[0]) === flag[1];
    if (HEADER_KEYS.has(key)) {
      const text = next();
      return (message) => contains(headerFieldsOf(message).get(key.toLowerCase()) ?? '', text);
    }
    switch (key) {
      case 'ALL':
      case 'OLD':
        return () => true;
      case 'NEW':
      case 'RECENT':
        return () => false;
      case 'NOT': {
        const test = readKey();
        return (message, sequence) => !test(message, sequence);
      }
      case 'OR': {
        const [left, right] = [readKey(), readKey()];
        return (message, sequence) => left(message, sequence) || right(message, sequence);
      }
      case 'UID': {
        const test = inSet(next(), highest.uid);
        return (message) => test(message.uid);
      }
      case 'HEADER': {
        const [name, text] = [next().toLowerCase(), next()];
        return (message) =>
          headerFieldsOf(message).has(name) && contains(headerFieldsOf(message).get(name) ?? '', text);
      }
      case 'BODY':
      case 'TEXT': {
        const text = next();
        return (message) => contains(message.raw.toString('utf8'), text);
      }
      case 'KEYWORD':
      case 'UNKEYWORD': {
        const keyword = next();
        return (message) => message.flags.has(keyword) === (key === 'KEYWORD');
      }
      case 'LARGER':
      case 'SMALLER': {
        const size = Number(next());
        return (message) => (key === 'LARGER' ? message.raw.length > size : message.raw.length < size);
      }
      case 'BEFORE':
      case 'SENTBEFORE': {
        const at = dayOf(next());
        return (message) => message.receivedAt.getTime() < at;
      }
      case 'SINCE':
      case 'SENTSINCE': {
        const at = dayOf(next());
        return (message) => message.receivedAt.getTime() >= at;
      }
      default: {
        const test = inSet(key, highest.sequence);
        return (_, sequence) => test(sequence);
      }
    }
  };
  const tests: SearchPredicate[] = [];
  while (rest.length > 0) tests.push(readKey());
  return (message, sequence) => tests.every((test) => test(message, sequence));
}

/** An argument of an IMAP command: an atom or string as text, a literal as bytes, or a parenthesized list. */
export type Token = string | Buffer | Token[];

/** A client's syntax error; the response is BAD. */
export class BadCommand extends Error {}

/**
 * Parses the arguments of a command (RFC 3501 section 9). A command arrives in parts: text, literal, text, … An atom
 * and its section in brackets (`BODY[HEADER.FIELDS (DATE)]<0.9>`) form one token.
 */
export function tokenize(pieces: readonly (string | Buffer)[]): Token[] {
  const stack: Token[][] = [[]];
  const top = () => stack[stack.length - 1] as Token[];
  for (const piece of pieces) {
    if (typeof piece !== 'string') {
      top().push(piece);
      continue;
    }
    const pattern = /\s+|"((?:\\.|[^"\\])*)"|([()])|((?:[^\s()"[]|\[[^\]]*\])+)/gy;
    let at = 0;
    for (let match = pattern.exec(piece); match !== null; match = pattern.exec(piece)) {
      at = pattern.lastIndex;
      const [, quoted, paren, atom] = match;
      if (quoted !== undefined) top().push(quoted.replace(/\\(.)/g, '$1'));
      else if (atom !== undefined) top().push(atom);
      else if (paren === '(') {
        const list: Token[] = [];
        top().push(list);
        stack.push(list);
      } else if (paren === ')') stack.pop();
      if (stack.length === 0) throw new BadCommand('unbalanced parenthesis');
      if (stack.length > 30) throw new BadCommand('nested too deep');
    }
    if (at !== piece.length) throw new BadCommand('unreadable arguments');
  }
  if (stack.length !== 1) throw new BadCommand('unbalanced parenthesis');
  return top();
}

/** The token as text. @throws BadCommand unless it is a string or a literal */
export function textOf(token: Token | undefined): string {
  if (typeof token === 'string') return token;
  if (Buffer.isBuffer(token)) return token.toString('utf8');
  throw new BadCommand('a string was expected');
}

/** The token as a list. @throws BadCommand unless it is one */
export function listOf(token: Token | undefined): Token[] {
  if (Array.isArray(token)) return token;
  throw new BadCommand('a list was expected');
}

/** Compiles a set such as `1:3,7,9:*`, over numbers up to `highest`, into a membership test. */
export function inSet(set: string, highest: number): (value: number) => boolean {
  if (!/^(\d+|\*)(:(\d+|\*))?(,(\d+|\*)(:(\d+|\*))?)*$/.test(set)) throw new BadCommand('not a sequence set');
  const ranges = set.split(',').map((range) => {
    const [from = 0, to = from] = range.split(':').map((end) => (end === '*' ? highest : Number(end)));
    return [Math.min(from, to), Math.max(from, to)] as const;
  });
  return (value) => ranges.some(([from, to]) => value >= from && value <= to);
}

/** Writes an IMAP string: quoted if permitted, otherwise as a literal. */
export function quote(value: string | undefined): string {
  if (value === undefined) return 'NIL';
  if (/^[\x20-\x7e]*$/.test(value)) return `"${value.replace(/["\\]/g, '\\$&')}"`;
  return `{${Buffer.byteLength(value, 'latin1')}}\r\n${value}`;
}

/** One part of a message: its header, its body as bytes, and its nested parts (RFC 2045, RFC 2046). */
interface MimePart {
  readonly header: Buffer;
  readonly body: Buffer;
  readonly fields: ReadonlyMap<string, string>;
  /** In lower case: `text`, `plain`. */
  readonly type: string;
  readonly subtype: string;
  readonly params: ReadonlyMap<string, string>;
  readonly children: readonly MimePart[];
}

const MAX_DEPTH = 20;

function parseMime(raw: Buffer, depth = 0): MimePart {
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

/** Unfolded fields by lower-case name; the first of repeated fields. */
function parseFields(header: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const line of header.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

function splitParameters(value: string): string[] {
  return value.match(/(?:"(?:\\.|[^"\\])*"|[^;"])+/g) ?? [];
}

function parseParameters(texts: readonly string[]): Map<string, string> {
  const params = new Map<string, string>();
  for (const text of texts) {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/s.exec(text) ?? [];
    if (name !== undefined && value !== undefined)
      params.set(name.toLowerCase(), value.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1'));
  }
  return params;
}

/** Offset after the blank line, which belongs to the header. */
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
