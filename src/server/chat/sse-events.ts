import { tryParse } from './try-parse-json.ts';

/** Events of a stream as text (HTML standard, 9.2). */

const LF = 0x0a;

/** Index behind the last blank line (HTML standard, 9.2.6: lines end in LF or CR LF; a lone CR is not used in practice). */
export function endOfLastEvent(data: Buffer | string): number {
  const { length } = data;
  if (typeof data !== 'string' && length > 1 && data[length - 1] === LF && data[length - 2] === LF) return length;
  return Math.max(endOfLastMatch(data, '\n\n'), endOfLastMatch(data, '\r\n\r\n'));
}

function endOfLastMatch(data: Buffer | string, mark: string): number {
  const at = data.lastIndexOf(mark);
  return at === -1 ? 0 : at + mark.length;
}

/** Ends streams of chat; the others end with an event of their own. */
export const DONE_DATA = '[DONE]';
const BOM = /^\ufeff/;

/** Events with the blank line behind each; a byte order mark at the start is none of the first one's (HTML standard, 9.2.5). */
export const splitEvents = (text: string): string[] =>
  text
    .replace(BOM, '')
    .match(/[\s\S]*?(?:\r?\n\r?\n|$)/g)
    ?.filter((event) => event !== '') ?? [];

/** The data lines of one event, joined. */
export function extractData(event: string): string {
  if (event.startsWith('data: ') && event.indexOf('\n', 6) >= event.trimEnd().length) return event.slice(6).trimEnd();
  return splitLines(event)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');
}

export const splitLines = (event: string): string[] => event.split(/\r?\n/).filter((line) => line !== '');

export const isCompleteEvent = (event: string): boolean =>
  extractData(event) === DONE_DATA || tryParse(extractData(event)) !== undefined;
