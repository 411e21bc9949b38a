import { seededRandom } from '../../../../test/seeded-random.ts';

/** A reproducible sequence of whole numbers; `below` is exclusive. */
export function numbers(seed: number): (below: number) => number {
  const random = seededRandom(seed);
  return (below) => (random() * 2 ** 32) % below;
}

type Numbers = ReturnType<typeof numbers>;
const pick = <T>(next: Numbers, from: readonly T[]): T => from[next(from.length)] as T;

const STATUSES = [
  '200 OK',
  '200 OK',
  '200',
  '201 ',
  '204 No Content',
  '304 Not Modified',
  '404 Not \xe9 Found',
  '599 x',
];
const FIELDS = [
  'Server: a',
  'x-a: 1',
  'X-A:2',
  'x-b:\t c, d \t',
  'x-empty:',
  'set-cookie: a=b; c',
  'x-c: \xe4:',
  'keep-alive: timeout=5',
];
const CONNECTIONS = ['connection: close', 'Connection: Keep-Alive', 'connection: x, close', 'connection: upgrade'];
const ODD_LENGTHS = [
  '+5',
  '-1',
  '0x5',
  '5,5',
  '5 5',
  '',
  '5.0',
  '99999999999999999999999',
  '18446744073709551617',
  '05',
  '5;',
];
const ODD_SIZES = [
  '+3',
  '-3',
  '0x3',
  ' 3',
  '3 ',
  '',
  'g',
  '3;\x01',
  '3;a="b"',
  '3 ; a',
  '003',
  '0000000000000003',
  '00000000000003',
  'fffffffffffffffff',
  '3\t',
];
const ODD_CODINGS = [
  'gzip',
  'gzip, chunked',
  'chunked, gzip',
  'chunked, chunked',
  'CHUNKED',
  'identity',
  '',
  'chunked ',
];
const ODD_BYTES = ['\r', '\n', '\r\n', ' ', '\t', ':', ',', ';', '\0', '\x7f', '\x80', '0', '1', 'a', 'H', '"'];

/** The lines and the body of a valid response. */
function validResponse(next: Numbers): { lines: string[]; body: string; interim: string } {
  const lines = [`HTTP/1.${next(6) === 0 ? 0 : 1} ${pick(next, STATUSES)}`];
  for (let n = next(4); n > 0; n--) lines.push(pick(next, FIELDS));
  if (next(3) === 0) lines.push(pick(next, CONNECTIONS));
  let body = pick(next, ['', 'a', 'hello\r\n\r\n', 'x'.repeat(next(3_000)), 'HTTP/1.1 200 OK\r\n\r\n']);
  const framing = next(5);
  if (framing <= 1)
    lines.splice(1 + next(lines.length), 0, `${pick(next, ['content-length', 'Content-Length'])}: ${body.length}`);
  else if (framing <= 3) {
    lines.splice(1 + next(lines.length), 0, `transfer-encoding: ${pick(next, ['chunked', 'Chunked'])}`);
    body = chunked(next, body);
  }
  return {
    lines,
    body,
    interim:
      next(8) === 0
        ? pick(next, [
            'HTTP/1.1 100 Continue\r\n\r\n',
            'HTTP/1.1 102 Processing\r\n\r\n',
            'HTTP/1.1 103 x\r\nlink: a\r\n\r\n',
          ])
        : '',
  };
}

function chunked(next: Numbers, body: string): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const size = 1 + next(Math.min(body.length - at, 400));
    text += `${size.toString(16)}${pick(next, ['', '', ';a', ';a=b;c="d"'])}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}${pick(next, ['0', '00', '0;a'])}\r\n${pick(next, ['', '', 'x-trailer: a\r\n'])}\r\n`;
}

const replaceLine = (lines: string[], name: string, value: string): void => {
  const at = lines.findIndex((line) => line.toLowerCase().startsWith(`${name}:`));
  lines.splice(at === -1 ? 1 : at, at === -1 ? 0 : 1, `${name}: ${value}`);
};

/** Bytes of a response, two thirds of them with a single defect or oddity. */
export function makeResponse(next: Numbers): string {
  const { lines, body, interim } = validResponse(next);
  const whole = (): string => `${interim}${lines.join('\r\n')}\r\n\r\n${body}`;
  const text = whole();
  // Near the start, where the framing is declared.
  const at = next(Math.min(text.length, 150));
  switch (next(20)) {
    case 0:
      return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << next(8))) + text.slice(at + 1);
    case 1:
      return text.slice(0, at) + pick(next, ODD_BYTES) + text.slice(at);
    case 2:
      return text.slice(0, at) + text.slice(at + 1 + next(2));
    case 3:
      return text.slice(0, next(text.length));
    case 4:
      lines.splice(1 + next(lines.length), 0, lines[1 + next(Math.max(1, lines.length - 1))] ?? 'a: b');
      return whole();
    case 5:
      replaceLine(lines, 'content-length', pick(next, ODD_LENGTHS));
      return whole();
    case 6:
      replaceLine(lines, 'transfer-encoding', pick(next, ODD_CODINGS));
      return whole();
    case 7:
      return text.replace(/\r\n[0-9a-f]+(?:;[^\r]*)?\r\n/, `\r\n${pick(next, ODD_SIZES)}\r\n`);
    case 8:
      return text + pick(next, ['x', '\r\n', 'HTTP/1.1 200 OK\r\n\r\n', '0\r\n\r\n']);
    case 9:
      return text.replaceAll('\r\n', pick(next, ['\n', '\r', '\n\r', '\r\r\n']));
    case 10:
      return text.replace(/(?<=^HTTP\S* \d\d\d )/m, pick(next, ['\x7f', '\x01', '\0']));
    case 11:
      return pick(next, ['\r\n', '\n', '\r', ' ', '\0']) + text;
    case 12:
      return text.replace(/\r\n(?=[0-9a-f]+[;\r])/, `\r\n${'0'.repeat(9 + next(9))}`);
    case 13:
      return text.replace(/(?<=\r\n(?:content-length|transfer-encoding):[^\r]*)(?=\r\n)/i, pick(next, [' ', '\t']));
    default:
      return text;
  }
}
