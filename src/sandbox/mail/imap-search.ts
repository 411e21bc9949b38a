import { BadCommand, inSet, type Token, textOf } from './imap-argument-syntax.ts';
import { headerFieldsOf } from './imap-fetch.ts';
import type { StoredMessage } from './mail-store.ts';

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

/** Makes one test of SEARCH's keys, all of which must hold (RFC 3501 section 6.4.4). */
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
