import type { ServerResponse } from 'node:http';
import type { Locale } from '../../contract/localized-messages/format-message.ts';
import type { Reader } from './inbox-service.ts';
import { formatCursor, type StreamSink } from './notification-streams.ts';
import { toNotification } from './presenter.ts';

/** How long a browser waits before it reconnects, in milliseconds. */
const RETRY_MS = 3_000;
/** A reader that receives nothing for this long is disconnected, because its events would accumulate in memory. */
const STALLED_READER_TIMEOUT_MS = 60_000;

/** Writes the events of a stream as server-sent events (WHATWG HTML, section 9.2). */
export function openSseSink(response: ServerResponse, reader: Reader, locale: Locale): StreamSink {
  const event = (name: string, id: string, data: unknown) =>
    `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
  const write = (text: string): void => {
    if (!response.writableEnded && !response.destroyed) response.write(text);
  };
  write(`retry: ${RETRY_MS}\n\n`);
  return {
    sendNotification: (item, cursor) =>
      write(event('notification', formatCursor(cursor), toNotification(item, reader.userId, locale))),
    sendUnreadCount: (count, cursor) => write(event('unread', formatCursor(cursor), { unread_count: count })),
    sendHeartbeat: () => write(': keep-alive\n\n'),
    whenWritable: () => whenDrained(response),
    end: () => {
      response.end();
    },
  };
}

function whenDrained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), STALLED_READER_TIMEOUT_MS);
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
