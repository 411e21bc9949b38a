import type { ErrorCode } from '../error-codes.ts';
import { translateDetail } from './details-zh-cn.ts';
import { EN } from './en.ts';
import type { Locale } from './locales.ts';
import { NOUNS, ZH_CN } from './zh-cn.ts';

export { LOCALES, type Locale } from './locales.ts';

/** Key of a message. */
export type MessageKey = keyof typeof EN;

// Compile-time check that every error code has a text.
const _everyCodeHasText: Record<ErrorCode, string> = EN;
void _everyCodeHasText;

const MESSAGES: Readonly<Record<Locale, Readonly<Record<MessageKey, string>>>> = { en: EN, 'zh-CN': ZH_CN };

/** A text in every supported language, for modules that provide their own translations. */
export type Localized = Readonly<Record<Locale, string>>;
/** Values of a message's placeholders. */
export type MessageParams = Readonly<Record<string, string | number | Localized>>;

/** Translates a parameter, which the code passes in English, before it is inserted. */
const PARAM_TRANSLATORS: Readonly<Record<Locale, (name: string, text: string) => string>> = {
  en: (_, text) => text,
  'zh-CN': (name, text) => (name === 'detail' ? translateDetail(text) : name === 'what' ? (NOUNS[text] ?? text) : text),
};

/**
 * The text of a key in a language with its `{name}` placeholders filled; a missing value leaves the placeholder empty.
 */
export function formatMessage(key: MessageKey, locale: Locale, params: MessageParams = {}): string {
  return MESSAGES[locale][key].replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? '';
    return typeof value === 'object' ? value[locale] : PARAM_TRANSLATORS[locale](name, String(value));
  });
}
