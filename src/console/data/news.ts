import { createParser } from 'eventsource-parser';
import { streamNotifications } from '../../contract/notifications.ts';
import { pause } from '../../sdk/transport.ts';
import { send } from './client.ts';

/** One event of the stream; `gap`: something may have been missed, so that what is shown must be asked for again. */
export interface NewsEvent {
  readonly kind: 'notification' | 'unread' | 'gap';
  readonly id: string;
  /** The event's JSON; empty of a gap. */
  readonly data: string;
}

/** The service says every 20 seconds that it is there; a connection silent for longer than this is dead. */
const SILENT_MS = 60_000;
const FIRST_WAIT_MS = 3_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * What the service tells this account, as it happens, until the signal ends it. One tab holds the stream and passes it on to
 * the others: browsers allow few connections to a host, and every tab holding one would leave none for the rest.
 */
export async function followNews(
  userId: number,
  onEvent: (event: NewsEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `reelgate.news.${userId}`;
  const others = new BroadcastChannel(name);
  signal.addEventListener('abort', () => others.close(), { once: true });
  let last: string | undefined;
  const take = (event: NewsEvent): void => {
    if (event.id !== '') last = event.id;
    onEvent(event);
  };
  others.onmessage = ({ data }) => take(data as NewsEvent);
  const lead = (during: AbortSignal): Promise<void> =>
    hold(
      () => last,
      (event) => {
        take(event);
        if (!signal.aborted) others.postMessage(event);
      },
      during,
    );
  // Pages that came without TLS have no locks: there only a tab that is looked at holds a stream.
  const { locks } = navigator as { readonly locks?: LockManager };
  await (locks === undefined ? whileVisible(lead, signal) : locks.request(name, { signal }, () => lead(signal)));
}

/** Keeps a stream open, coming back after the last event it had. */
async function hold(last: () => string | undefined, tell: (event: NewsEvent) => void, signal: AbortSignal) {
  let waitMs = FIRST_WAIT_MS;
  while (!signal.aborted) {
    const heard = await readStream(last(), tell, signal).catch(() => false);
    waitMs = heard ? FIRST_WAIT_MS : Math.min(LONGEST_WAIT_MS, waitMs * 2);
    await pause(waitMs * (0.75 + Math.random() / 2), signal).catch(() => undefined);
  }
}

/** Reads one connection to its end. @returns whether it was a stream at all */
async function readStream(last: string | undefined, tell: (event: NewsEvent) => void, signal: AbortSignal) {
  const silence = new AbortController();
  const response = await send(
    streamNotifications,
    { query: last === undefined ? {} : { last_event_id: last } },
    { signal: AbortSignal.any([signal, silence.signal]) },
  );
  if (!response.ok || response.body === null) return false;
  if (last === undefined) tell({ kind: 'gap', id: '', data: '' });
  const parser = createParser({
    onEvent: ({ event, id = '', data }) => {
      if (event === 'notification' || event === 'unread') tell({ kind: event, id, data });
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let watch = setTimeout(() => silence.abort(), SILENT_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      clearTimeout(watch);
      if (done) return true;
      watch = setTimeout(() => silence.abort(), SILENT_MS);
      parser.feed(value);
    }
  } catch {
    return true;
  } finally {
    clearTimeout(watch);
  }
}

/** Runs while the page can be seen, again and again, until the signal ends it. */
async function whileVisible(run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (document.visibilityState === 'visible') {
      const seen = new AbortController();
      const onChange = (): void => seen.abort();
      document.addEventListener('visibilitychange', onChange, { once: true });
      await run(AbortSignal.any([signal, seen.signal]));
      document.removeEventListener('visibilitychange', onChange);
    } else {
      await new Promise<void>((resolve) => {
        document.addEventListener('visibilitychange', () => resolve(), { once: true });
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}
