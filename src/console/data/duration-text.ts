const UNITS = {
  en: { ms: 'ms', s: 's', min: 'min', h: 'h' },
  'zh-cn': { ms: '毫秒', s: '秒', min: '分钟', h: '小时' },
} as const;

/** `840 ms`, `3.8 s`, `45 s`, `2 min 5 s`, `1 h 40 min`. */
export function toDurationText(seconds: number, language: 'en' | 'zh-cn'): string {
  const units = UNITS[language];
  const ms = Math.max(0, seconds * 1_000);
  if (ms < 1_000 && ms > 0) return `${Math.max(1, Math.round(ms))} ${units.ms}`;
  if (ms < 9_950) return `${Number((ms / 1_000).toFixed(1))} ${units.s}`;
  const whole = Math.round(ms / 1_000);
  if (whole < 90) return `${whole} ${units.s}`;
  const [large, small, size] = whole < 3_600 ? (['min', 's', 60] as const) : (['h', 'min', 3_600] as const);
  const rest = Math.floor((whole % size) / (size / 60));
  const first = `${Math.floor(whole / size)} ${units[large]}`;
  return rest === 0 ? first : `${first} ${rest} ${units[small]}`;
}
