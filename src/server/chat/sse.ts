import { parseJson } from '../platform/json.ts';

/** Events of a stream as text (HTML standard, 9.2): lines end in LF, CR LF or a lone CR. */

const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = 0xfeff;
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/g;

/** Index after the last blank line. */
export function endOfLastEvent(data: Buffer | string): number {
  const { length } = data;
  if (typeof data !== 'string' && length > 1 && data[length - 1] === LF && data[length - 2] === LF) return length;
  if (data.includes('\r')) return endOfLastBlankLine(data);
  const at = data.lastIndexOf('\n\n');
  return at === -1 ? 0 : at + 2;
}

/** Scans backwards, so the cost is the length of the incomplete event. */
function endOfLastBlankLine(data: Buffer | string): number {
  const at = (index: number): number | undefined => (typeof data === 'string' ? data.charCodeAt(index) : data[index]);
  for (let end = data.length - 1; end > 0; end--) {
    const last = at(end);
    if (last !== LF && last !== CR) continue;
    const before = at(last === LF && at(end - 1) === CR ? end - 2 : end - 1);
    // A CR at the end of the received data may be the first half
    // of CR LF, unless earlier lines have ended in a lone CR.
    const isHalf = last === CR && end === data.length - 1 && before !== CR;
    if ((before === LF || before === CR) && !isHalf) return end + 1;
  }
  return 0;
}

/** Ends Chat Completions streams; the other dialects end with an event of their own. */
export const DONE_DATA = '[DONE]';

/**
 * Splits a stream into events, each with its blank line; a byte order mark at the start belongs to no event (HTML
 * standard, 9.2.5).
 */
export function splitEvents(text: string): string[] {
  const events: string[] = [];
  let from = text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  if (text.includes('\r'))
    for (const { index, 0: blank } of text.matchAll(BLANK_LINE)) {
      events.push(text.slice(from, index + blank.length));
      from = index + blank.length;
    }
  else
    for (let at = text.indexOf('\n\n', from); at !== -1; at = text.indexOf('\n\n', from)) {
      events.push(text.slice(from, at + 2));
      from = at + 2;
    }
  if (from < text.length) events.push(text.slice(from));
  return events;
}

/** The data lines of one event, joined; empty for comments and blank lines. */
export function extractData(event: string): string {
  if (!event.includes('data')) return '';
  if (event.startsWith('data: ') && !event.includes('\r') && event.indexOf('\n', 6) >= event.length - 2)
    return event.slice(6).trim();
  return splitLines(event)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n')
    .trimEnd();
}

/** Parses the object that an event carries; undefined for comments, end markers, and data that is not an object. */
export function parseEvent(data: string): unknown {
  return data.charCodeAt(0) === 0x7b || data.charCodeAt(0) === 0x5b ? tryParse(data) : undefined;
}

/** The non-empty lines of an event. */
export const splitLines = (event: string): string[] => event.split(/\r\n|\r|\n/).filter((line) => line !== '');

/** Whether an event carries a JSON object or the end marker, so that it was not cut off. */
export const isCompleteEvent = (event: string): boolean => {
  const data = extractData(event);
  return data === DONE_DATA || parseEvent(data) !== undefined;
};

/** Whether a body is a stream of events, whatever its content type says. */
export const looksLikeEvents = (start: Buffer): boolean =>
  /^\ufeff?\s*(?:data|event|id|retry)?:/.test(start.toString('utf8', 0, 64));

/** Whether a body is JSON, whatever its content type says. */
export const looksLikeJson = (start: Buffer): boolean => /^\ufeff?\s*[{[]/.test(start.toString('utf8', 0, 64));

/** Replaces lone CRs, which few parsers accept as a line end, by LF. */
export const normalizeLoneCr = (events: Buffer): Buffer =>
  events.includes(CR) && /\r(?!\n)/.test(events.toString('latin1'))
    ? Buffer.from(events.toString('latin1').replace(/\r\n|\r/g, '\n'), 'latin1')
    : events;

/** Parses JSON; undefined for text that is not JSON, or is nested too deeply. */
export function tryParse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
