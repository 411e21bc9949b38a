export const LANGUAGES = { en: 'English', 'zh-cn': '中文' } as const;
export type Language = keyof typeof LANGUAGES;
/** Locales as sent in requests. */
export const LOCALES = { en: 'en', 'zh-cn': 'zh-CN' } as const;

export const LANGUAGE_KEY = 'reelgate.language';

/** The language last selected in this browser, else the browser's own. */
export function preferredLanguage(): Language {
  const kept = localStorage.getItem(LANGUAGE_KEY);
  if (kept === 'en' || kept === 'zh-cn') return kept;
  return navigator.languages
    .find((each) => /^(zh|en)/i.test(each))
    ?.toLowerCase()
    .startsWith('zh') === true
    ? 'zh-cn'
    : 'en';
}
