import type { PubSub } from '../platform/db/pub-sub.ts';

const SIGNAL_CHANNEL = 'notifications';

/** Signals to every process which notifications changed: those of one account, or (0) the announcements. */
export class ChangeSignals {
  readonly #pubSub: PubSub;
  constructor(pubSub: PubSub) {
    this.#pubSub = pubSub;
  }

  /** Has to be called after the commit: a process that receives the signal reads the database at once. */
  notifyChanged(userId: number): void {
    this.#pubSub.publish(SIGNAL_CHANNEL, String(userId));
  }

  /**
   * @param onMissedSignals called after a gap in the connection, when any account may have changed
   * @returns ends the subscription
   */
  subscribe(onChange: (userId: number) => void, onMissedSignals: () => void): () => void {
    return this.#pubSub.subscribe(SIGNAL_CHANNEL, (payload) => onChange(Number(payload)), onMissedSignals);
  }
}
