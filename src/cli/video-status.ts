import { COARSE_PROGRESS } from '../contract/task-states.ts';

interface VideoState {
  readonly status: string;
  /** Percent; a fixed step per state if the vendor reports none. */
  readonly progress: number;
}

/** The percentage reported by the vendor; undefined if the figure is only the state's fixed step. */
export const measuredPercent = ({ status, progress }: VideoState): number | undefined =>
  status === 'in_progress' && progress > 0 && progress !== COARSE_PROGRESS.IN_PROGRESS ? progress : undefined;

/** Formats a state such as `in progress 40%`; the percentage is shown only if the vendor measured it. */
export function formatVideoStatus(video: VideoState): string {
  const percent = measuredPercent(video);
  return `${video.status.replace('_', ' ')}${percent === undefined ? '' : ` ${percent}%`}`;
}
