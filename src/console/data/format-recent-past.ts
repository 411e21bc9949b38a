/** For each unit: its name, the text for zero, and the smallest count without a name of its own ("yesterday"). */
const UNITS = {
  en: { minute: ['minute', 'just now', 1], hour: ['hour', undefined, 1], day: ['day', undefined, 2] },
  'zh-cn': { minute: ['分钟', '刚刚', 1], hour: ['小时', undefined, 1], day: ['天', undefined, 3] },
} as const;

/**
 * Relative time as `Intl.RelativeTimeFormat` writes it (in Chinese with a space after the number), for the most frequent cases: creating the first Intl formatter
 * costs a page about 10 ms at start.
 *
 * @returns undefined for cases that need Intl: future times, other units, times with a name of their own
 */
export function formatRecentPast(language: 'en' | 'zh-cn', unit: string, count: number): string | undefined {
  const [word, none, least] = UNITS[language][unit as 'minute'] ?? [];
  if (count === 0) return none;
  if (word === undefined || least === undefined || count < least) return undefined;
  if (language === 'zh-cn') return `${count} ${word}前`;
  return `${count} ${word}${count === 1 ? '' : 's'} ago`;
}

/** Separates a number from the Chinese word behind it, as all texts of the console do. */
export const spaceNumber = (text: string): string => text.replace(/(\d)(?=[\u4e00-\u9fff])/g, '$1 ');
