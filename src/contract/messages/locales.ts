export const LOCALES = ['en', 'zh-CN'] as const;
/** A supported language. */
export type Locale = (typeof LOCALES)[number];
