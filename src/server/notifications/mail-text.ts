import type { Locale } from '../../contract/localized-messages/format-message.ts';
import type { MailText } from '../mail/mail-queue.ts';
import type { MailItem } from './notification-mail-store.ts';

interface Service {
  /** Host of the service, so that people with accounts at several know which one writes. */
  readonly site: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
}

/** More are told by their number. */
const MAX_ITEMS = 50;

const TEXTS = {
  en: {
    many: (count: number, site: string) => `${count} notifications from ${site}`,
    more: (count: number) => `… and ${count} more: see the notifications in the console.`,
    footer: 'Choose which notifications are e-mailed, when and in which language:',
  },
  'zh-CN': {
    many: (count: number, site: string) => `${site} 的 ${count} 条通知`,
    more: (count: number) => `……另有 ${count} 条，请在控制台查看。`,
    footer: '设置哪些通知发送邮件、发送时间和语言：',
  },
} as const satisfies Record<Locale, unknown>;

/** Writes the mail of some notifications, oldest first. */
export function toMailText(items: readonly MailItem[], locale: Locale, { site, baseUrl }: Service): MailText {
  const texts = TEXTS[locale];
  const shown = items.slice(0, MAX_ITEMS).map((item) => {
    const [title, content] = locale === 'zh-CN' ? [item.title_zh, item.content_zh] : [item.title_en, item.content_en];
    const link = item.target_url === '' ? [] : [`${baseUrl}${item.target_url}`];
    return { title, text: [title, content, ...link].filter((line) => line !== '').join('\n') };
  });
  const more = items.length > MAX_ITEMS ? [texts.more(items.length - MAX_ITEMS)] : [];
  const [only] = shown;
  return {
    subject:
      shown.length === 1 && only !== undefined ? `${toOneLine(only.title)} · ${site}` : texts.many(items.length, site),
    text: `${[...shown.map(({ text }) => text), ...more].join('\n\n')}\n\n-- \n${texts.footer}\n${baseUrl}/notifications/settings\n`,
  };
}

/** A subject is one line (RFC 5322 section 2.2). */
const toOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
