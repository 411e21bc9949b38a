import type { Locale } from '../../contract/localized-messages/format-message.ts';

/** The language of the response, by Accept-Language (RFC 9110 section 12.5.4); quality values count, others fall back. */
export function negotiateLocale(acceptLanguage: string | undefined, fallback: Locale): Locale {
  if (acceptLanguage === undefined || acceptLanguage.length > 256) return fallback;
  let best: { readonly locale: Locale; readonly quality: number } | undefined;
  for (const part of acceptLanguage.split(',')) {
    const [tag = '', ...parameters] = part.trim().toLowerCase().split(';');
    const quality = Number(/^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(parameters[0] ?? '')?.[1] ?? '1');
    const locale = /^zh(-|$)/.test(tag) ? 'zh-CN' : /^en(-|$)/.test(tag) ? 'en' : undefined;
    if (locale !== undefined && quality > 0 && quality > (best?.quality ?? 0)) best = { locale, quality };
  }
  return best?.locale ?? fallback;
}
