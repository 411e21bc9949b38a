import { formatNames } from '../data/format-values.ts';

const BROWSERS = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

/**
 * "Firefox, Linux": a short name users recognize, for the program's own text shown on hover. Of the truncated text in the
 * request log, only the system may be left.
 */
export function describeBrowser(userAgent: string): string {
  const find = (names: readonly (readonly [RegExp, string])[]) =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const known = [find(BROWSERS), find(SYSTEMS)].filter((each) => each !== undefined);
  return known.length === 0 ? userAgent.slice(0, 40) || '–' : formatNames(known);
}
