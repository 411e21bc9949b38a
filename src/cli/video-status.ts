import { COARSE_PROGRESS } from '../contract/task-states.ts';

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
