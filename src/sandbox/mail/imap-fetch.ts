import { BadCommand, quote } from './imap-argument-syntax.ts';
import type { StoredMessage } from './mail-store.ts';
import { type MimePart, parseFields, parseMime, parseParameters, splitParameters } from './mime.ts';

const MACROS: Readonly<Record<string, readonly string[]>> = {
  ALL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE'],
  FAST: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE'],
  FULL: ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY'],
};

export interface FetchedItems {
  /** Latin-1 text, so that every byte of the message is one character. */
  readonly text: string;
  /** A body was read without PEEK. */
  readonly seen: boolean;
}

/** The data items of one message (RFC 3501 section 7.4.2). */
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

export const headerFieldsOf = (message: StoredMessage): Map<string, string> =>
  parseFields(parseMime(message.raw).header.toString('latin1'));
