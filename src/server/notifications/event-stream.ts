import type { ServerResponse } from 'node:http';
import type { Locale } from '../../contract/messages/messages.ts';
import type { Reader } from './inbox.ts';
import { toNotification } from './presenter.ts';
import { type Sink, toCursorText } from './stream.ts';

/** How long a browser waits before it comes back, in milliseconds. */
const RETRY_MS = 3_000;
/** A reader that takes nothing for so long is gone. */
const STALL_MS = 60_000;

/** Writes a stream's events as server-sent events (WHATWG HTML, section 9.2). */
export function makeEventStream(
  response: ServerResponse,
  reader: Reader,
  locale: Locale,
  isAllowed: () => Promise<boolean>,
): Sink {
  const event = (name: string, id: string, data: unknown) =>
    `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
  };
  write(`retry: ${RETRY_MS}\n\n`);
  return {
    notification: (shown, cursor) =>
      write(event('notification', toCursorText(cursor), toNotification(shown, reader.userId, locale))),
    unread: (count, cursor) => write(event('unread', toCursorText(cursor), { unread_count: count })),
    beat: () => write(': still here\n\n'),
    ready: () => drained(response),
    isAllowed,
    end: () => {
      response.end();
    },
  };
}

function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), STALL_MS);
    const done = (): void => {
      clearTimeout(timer);
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
