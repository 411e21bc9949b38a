import { stripVTControlCharacters } from 'node:util';
import { COARSE_PROGRESS } from '../contract/task-states.ts';

/** Control characters and direction overrides: with them, text of other users could move the cursor or hide output. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

/** Untrusted text made safe for a terminal; tabs and line ends are kept. */
export const replaceControlCharacters = (text: string): string => text.replace(UNSAFE, '\ufffd');

/** Width of a text on a terminal, in columns; colours take none. */
export const displayWidth = (text: string): number =>
  [...stripVTControlCharacters(text)].reduce((sum, letter) => sum + (WIDE.test(letter) ? 2 : 1), 0);

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

interface VideoState {
  readonly status: string;
  /** Percent; a fixed step of the state where the vendor reports none. */
  readonly progress: number;
}

/** The percent a vendor reported; undefined where the figure is only the step of the state. */
export const measuredPercent = ({ status, progress }: VideoState): number | undefined =>
  status === 'in_progress' && progress > 0 && progress !== COARSE_PROGRESS.IN_PROGRESS ? progress : undefined;

/** `in progress 40%`; the percentage only where the vendor measured it. */
export function formatVideoStatus(video: VideoState): string {
  const percent = measuredPercent(video);
  return `${video.status.replace('_', ' ')}${percent === undefined ? '' : ` ${percent}%`}`;
}
