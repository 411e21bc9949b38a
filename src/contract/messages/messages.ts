import type { ErrorCode } from '../errors.ts';
import { toChineseDetail } from './details-zh-cn.ts';
import { EN } from './en.ts';
import { THINGS, ZH_CN } from './zh-cn.ts';

export const LOCALES = ['en', 'zh-CN'] as const;
export type Locale = (typeof LOCALES)[number];
export type MessageKey = keyof typeof EN;

// Every code has a text: a code without one does not compile.
const _everyCodeHasText: Record<ErrorCode, string> = EN;
void _everyCodeHasText;

const CATALOGUES: Readonly<Record<Locale, Readonly<Record<MessageKey, string>>>> = { en: EN, 'zh-CN': ZH_CN };

/** Something said in every language, by whoever knows them. */
export type Localized = Readonly<Record<Locale, string>>;
export type MessageParams = Readonly<Record<string, string | number | Localized>>;

/** What fills a place of a text in a language other than the one it was written in. */
const TRANSLATED: Readonly<Record<Locale, (name: string, text: string) => string>> = {
  en: (_, text) => text,
  'zh-CN': (name, text) =>
    name === 'detail' ? toChineseDetail(text) : name === 'what' ? (THINGS[text] ?? text) : text,
};

/** The text of a key in a language, its `{name}` places filled; an unfilled place stays empty. */
export function toText(key: MessageKey, locale: Locale, params: MessageParams = {}): string {
  return CATALOGUES[locale][key].replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    return typeof value === 'object' ? value[locale] : TRANSLATED[locale](name, String(value));
  });
}
