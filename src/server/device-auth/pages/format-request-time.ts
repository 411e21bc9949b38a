import type { Locale } from '../../../contract/localized-messages/format-message.ts';

const MINUTE_MS = 60_000;

/** `2 minutes ago (21 Nov 2026, 12:00 UTC)`: in UTC, because a page without scripts cannot know the reader's time zone. */
export function formatRequestTime(at: number, now: number, locale: Locale): string {
  const minutes = Math.max(0, Math.floor((now - at) / MINUTE_MS));
  const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(-minutes, 'minute');
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(at);
  return `${ago} (${date} UTC)`;
}
