import { currentLanguage } from '../strings/language.ts';

/*
 * Punctuation between texts that pages join, in the form of their language: Chinese has full-width signs without
 * spaces.
 */

const isChinese = (): boolean => currentLanguage() === 'zh-cn';

/** The sign between a label and its value: `: `, in Chinese `：`. */
export const formatColon = (): string => (isChinese() ? '：' : ': ');

/** A label and its value: `Length: 5 s`, `时长：5 秒`. */
export const formatLabelled = (label: string, value: string): string => `${label}${formatColon()}${value}`;

/** A text and what explains it: `Note (optional)`, `备注（选填）`. */
export const formatAside = (text: string, aside: string): string =>
  isChinese() ? `${text}（${aside}）` : `${text} (${aside})`;

/** Names in a row: `a, b`, `a、b`. */
export const formatNames = (names: readonly string[]): string => names.join(isChinese() ? '、' : ', ');
