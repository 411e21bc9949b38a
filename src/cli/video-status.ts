import { COARSE_PROGRESS } from '../contract/task-states.ts';

interface VideoState {
  readonly status: string;
  /** Percent; a fixed step per state if the vendor reports none. */
  readonly progress: number;
  /** The queue position of a video that waits for its start. */
  readonly queue?: {
    readonly position: number;
    readonly starts_in_seconds: { readonly p50: number; readonly p90: number };
  };
}

/** The percentage reported by the vendor; undefined if the figure is only the state's fixed step. */
export const measuredPercent = ({ status, progress }: VideoState): number | undefined =>
  status === 'in_progress' && progress > 0 && progress !== COARSE_PROGRESS.IN_PROGRESS ? progress : undefined;

/** Formats a state such as `in progress 40%`; the percentage is shown only if the vendor measured it. */
export function formatVideoStatus(video: VideoState): string {
  const percent = measuredPercent(video);
  if (video.queue !== undefined) return `${video.status}, number ${video.queue.position}, ${formatStart(video.queue)}`;
  return `${video.status.replace('_', ' ')}${percent === undefined ? '' : ` ${percent}%`}`;
}

/** `starts in 2–5 min` */
function formatStart({ starts_in_seconds: { p50, p90 } }: NonNullable<VideoState['queue']>): string {
  if (p90 < 60) return 'starts within a minute';
  const [from, to] = [Math.max(1, Math.round(p50 / 60)), Math.ceil(p90 / 60)];
  return `starts in ${from === to ? from : `${from}–${to}`} min`;
}
