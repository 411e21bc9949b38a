import type { ErrorCode } from '../errors.ts';
import { EN } from './en.ts';
import { ZH_CN } from './zh-cn.ts';

export const LOCALES = ['en', 'zh-CN'] as const;
export type Locale = (typeof LOCALES)[number];
export type MessageKey = keyof typeof EN;

// Every code has a text: a code without one does not compile.
const _everyCodeHasText: Record<ErrorCode, string> = EN;
void _everyCodeHasText;

const CATALOGUES: Readonly<Record<Locale, Readonly<Record<MessageKey, string>>>> = { en: EN, 'zh-CN': ZH_CN };

export type MessageParams = Readonly<Record<string, string | number>>;

/** The text of a key in a language, its `{name}` places filled; an unfilled place stays empty. */
export function toText(key: MessageKey, locale: Locale, params: MessageParams = {}): string {
  return CATALOGUES[locale][key].replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ''));
}
