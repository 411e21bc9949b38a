/** `3 minutes ago`, `in 2 days`. @param seconds Unix seconds */
export function formatRelativeTime(seconds: number, now = Date.now()): string {
  const distance = seconds - now / 1000;
  const [unit, size] = UNITS.find(([, minimum]) => Math.abs(distance) >= minimum) ?? (['second', 1] as const);
  if (Math.abs(distance) < 60) return distance > 0 ? 'in a moment' : 'just now';
  return new Intl.RelativeTimeFormat('en', { numeric: 'always' }).format(Math.trunc(distance / size), unit);
}
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

/** `2026-11-21 12:30`, in the machine's time zone. */
export function formatDateTime(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** `10 minutes`, `45 seconds`. */
export function formatDuration(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${seconds} second${seconds === 1 ? '' : 's'}`;
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(minutes / 60)} hours`;
}

export const formatBytes = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
