import type { Transaction } from 'kysely';
import type { Standing } from '../accounts/standing.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/after-commit.ts';
import { toWellFormedText } from '../platform/json.ts';
import type { Tables } from '../tables.ts';
import { isWanted } from './inbox.ts';
import type { News } from './news.ts';
import type { AdminNotice, AdminNotifier, Notice, Notifier } from './notifier.ts';
import { addNotification, countIn } from './store.ts';
import { isConsolePath } from './target.ts';

type Trx = Transaction<Tables>;

/** Longest stored texts, in code points; reasons and names come from outside. */
const MAX_TITLE = 200;
const MAX_CONTENT = 2_000;

/** Text of any length and origin, cut between characters and made storable. */
function fit(text: string, most: number): string {
  const clean = toWellFormedText(text);
  if (clean.length <= most) return clean;
  const points = [...clean];
  return points.length <= most ? clean : `${points.slice(0, most - 1).join('')}…`;
}

/** Writes notifications: the row and its count in the transaction of the event, the news of it after the commit. */
export function makeWriter(
  clock: Clock,
  news: Pick<News, 'tell'>,
  standing: Pick<Standing, 'administrators'>,
): Notifier & AdminNotifier {
  const write = async (trx: Trx, userId: number, forAdmin: 0 | 1, notice: Notice | AdminNotice): Promise<void> => {
    if (!isConsolePath(notice.targetUrl)) throw new TypeError('a notification leads into the console or nowhere');
    if (!(await isWanted(trx, userId, notice.topic))) return;
    await countIn(trx, userId, forAdmin, 1);
    const id = await addNotification(trx, {
      user_id: userId,
      for_admin: forAdmin,
      type: notice.type,
      topic: notice.topic,
      title_en: fit(notice.title.en, MAX_TITLE),
      content_en: fit(notice.content.en, MAX_CONTENT),
      title_zh: fit(notice.title['zh-CN'], MAX_TITLE),
      content_zh: fit(notice.content['zh-CN'], MAX_CONTENT),
      target_url: notice.targetUrl,
      related_id: notice.relatedId ?? 0,
      once_key: notice.onceKey ?? null,
      created_at: clock.now(),
    });
    if (id === undefined) await countIn(trx, userId, forAdmin, -1);
    else afterCommit(trx, () => news.tell(userId));
  };
  return {
    notify: (trx, notice) => write(trx, notice.userId, 0, notice),
    async notifyAdministrators(trx, notice) {
      const forAdmin = notice.type === 'system' ? 0 : 1;
      for (const id of await standing.administrators(trx))
        if (id !== notice.causedBy) await write(trx, id, forAdmin, notice);
    },
  };
}
