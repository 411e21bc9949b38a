import { followNotifications, type StreamEvent } from '../../sdk/notification-stream.ts';
import { pause } from '../../sdk/transport.ts';
import { send } from './client.ts';

/** After a refusal: whoever signs in again is soon told again. */
const REFUSED_WAIT_MS = 60_000;

/**
 * What the service tells this account, as it happens, until the signal ends it. One tab holds the stream and passes it on to
 * the others: browsers allow few connections to a host, and every tab holding one would leave none for the rest.
 */
export async function followNews(
  userId: number,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `reelgate.news.${userId}`;
  const others = new BroadcastChannel(name);
  signal.addEventListener('abort', () => others.close(), { once: true });
  let last: string | undefined;
  const take = (event: StreamEvent): void => {
    if (event.id !== '') last = event.id;
    onEvent(event);
  };
  others.onmessage = ({ data }) => take(data as StreamEvent);
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
async function hold(last: () => string | undefined, tell: (event: StreamEvent) => void, signal: AbortSignal) {
  while (!signal.aborted) {
    try {
      for await (const event of followNotifications({ send }, { lastEventId: last(), signal })) tell(event);
    } catch {
      await pause(REFUSED_WAIT_MS, signal).catch(() => undefined);
    }
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
