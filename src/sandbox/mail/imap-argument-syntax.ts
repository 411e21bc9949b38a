/** An argument of an IMAP command: an atom or string as text, a literal as bytes, or a parenthesized list. */
export type Token = string | Buffer | Token[];

/** A syntax error of the client; the response is BAD. */
export class BadCommand extends Error {}

/**
 * Reads the arguments of a command (RFC 3501 section 9). A command arrives in parts: text, literal, text, … An atom keeps
 * its section in brackets (`BODY[HEADER.FIELDS (DATE)]<0.9>`) as one token.
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

export function textOf(token: Token | undefined): string {
  if (typeof token === 'string') return token;
  if (Buffer.isBuffer(token)) return token.toString('utf8');
  throw new BadCommand('a string was expected');
}

export function listOf(token: Token | undefined): Token[] {
  if (Array.isArray(token)) return token;
  throw new BadCommand('a list was expected');
}

/** `1:3,7,9:*` over numbers up to `highest`: whether a number is in it. */
export function inSet(set: string, highest: number): (value: number) => boolean {
  if (!/^(\d+|\*)(:(\d+|\*))?(,(\d+|\*)(:(\d+|\*))?)*$/.test(set)) throw new BadCommand('not a sequence set');
  const ranges = set.split(',').map((range) => {
    const [from = 0, to = from] = range.split(':').map((end) => (end === '*' ? highest : Number(end)));
    return [Math.min(from, to), Math.max(from, to)] as const;
  });
  return (value) => ranges.some(([from, to]) => value >= from && value <= to);
}

/** A value as IMAP writes strings: quoted where that is allowed, else a literal. */
export function quote(value: string | undefined): string {
  if (value === undefined) return 'NIL';
  if (/^[\x20-\x7e]*$/.test(value)) return `"${value.replace(/["\\]/g, '\\$&')}"`;
  return `{${Buffer.byteLength(value, 'latin1')}}\r\n${value}`;
}
