import { followNotifications, type StreamEvent } from '../../sdk/notifications.ts';
import { sleep } from '../../sdk/transport.ts';
import { sendRequest } from './api-client.ts';

/** Delay after a refused stream, so that notifications resume soon after the user has signed in again. */
const RETRY_DELAY_MS = 60_000;

/**
 * Live notifications of this account until the signal aborts. One tab holds the stream and forwards its events to the other
 * tabs: browsers limit the connections to a host, and one stream per tab would leave none for other requests.
 */
export async function subscribeNotifications(
  userId: number,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `reelgate.news.${userId}`;
  const channel = new BroadcastChannel(name);
  signal.addEventListener('abort', () => channel.close(), { once: true });
  let lastEventId: string | undefined;
  const handleEvent = (event: StreamEvent): void => {
    if (event.id !== '') lastEventId = event.id;
    onEvent(event);
  };
  channel.onmessage = ({ data }) => handleEvent(data as StreamEvent);
  const runAsLeader = (during: AbortSignal): Promise<void> =>
    keepStreamOpen(
      () => lastEventId,
      (event) => {
        handleEvent(event);
        if (!signal.aborted) channel.postMessage(event);
      },
      during,
    );
  // The Web Locks API is not available without TLS: there only visible tabs hold a stream.
  const { locks } = navigator as { readonly locks?: LockManager };
  await (locks === undefined
    ? whileVisible(runAsLeader, signal)
    : locks.request(name, { signal }, () => runAsLeader(signal)));
}

/** Keeps a stream open, coming back after the last event it had. */
async function keepStreamOpen(
  lastEventId: () => string | undefined,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    try {
      for await (const event of followNotifications({ send: sendRequest }, { lastEventId: lastEventId(), signal }))
        onEvent(event);
    } catch {
      await sleep(RETRY_DELAY_MS, signal).catch(() => undefined);
    }
  }
}

/** Runs while the page can be seen, again and again, until the signal ends it. */
async function whileVisible(run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (document.visibilityState === 'visible') {
      const hidden = new AbortController();
      const onChange = (): void => hidden.abort();
      document.addEventListener('visibilitychange', onChange, { once: true });
      await run(AbortSignal.any([signal, hidden.signal]));
      document.removeEventListener('visibilitychange', onChange);
    } else {
      await new Promise<void>((resolve) => {
        document.addEventListener('visibilitychange', () => resolve(), { once: true });
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}
