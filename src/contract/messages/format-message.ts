import type { ErrorCode } from '../error-codes.ts';
import { translateDetail } from './details-zh-cn.ts';
import { EN } from './en.ts';
import type { Locale } from './locales.ts';
import { NOUNS, ZH_CN } from './zh-cn.ts';

export { LOCALES, type Locale } from './locales.ts';

export type MessageKey = keyof typeof EN;

// Every code has a text: a code without one does not compile.
const _everyCodeHasText: Record<ErrorCode, string> = EN;
void _everyCodeHasText;

const MESSAGES: Readonly<Record<Locale, Readonly<Record<MessageKey, string>>>> = { en: EN, 'zh-CN': ZH_CN };

/** A text in every supported language, for texts whose translations their own module provides. */
export type Localized = Readonly<Record<Locale, string>>;
export type MessageParams = Readonly<Record<string, string | number | Localized>>;

/** Translates a parameter value before it is inserted into a text; parameters are written in English. */
const PARAM_TRANSLATORS: Readonly<Record<Locale, (name: string, text: string) => string>> = {
  en: (_, text) => text,
  'zh-CN': (name, text) => (name === 'detail' ? translateDetail(text) : name === 'what' ? (NOUNS[text] ?? text) : text),
};

/** The text of a key in a language, with its `{name}` placeholders replaced; a placeholder without a value becomes empty. */
export function formatMessage(key: MessageKey, locale: Locale, params: MessageParams = {}): string {
  return MESSAGES[locale][key].replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    return typeof value === 'object' ? value[locale] : PARAM_TRANSLATORS[locale](name, String(value));
  });
}
