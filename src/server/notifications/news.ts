import type { Signals } from '../platform/db/listen.ts';

const CHANNEL = 'notifications';

/** What every process hears when something changed: in one account, or (0) for everybody. */
export interface News {
  /** Call it after the commit. */
  tell(userId: number): void;
  listen(onNews: (userId: number) => void, onGap: () => void): () => void;
}

export function makeNews(signals: Signals): News {
  return {
    tell: (userId) => signals.notify(CHANNEL, String(userId)),
    listen: (onNews, onGap) => signals.listen(CHANNEL, (payload) => onNews(Number(payload)), onGap),
  };
}
