import { COARSE_PROGRESS } from '../contract/task-states.ts';
import { estimateTimeLeft } from '../sdk/estimate-time-left.ts';
import type { Video, VideoDuration } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';
import { formatDuration, formatProgressBar, joinTexts, type Output, type Rendering, styled } from './output.ts';

const REDRAW_MS = 1_000;

/**
 * Status line of an unfinished video: state, bar, time since the request, and remaining time estimated from finished
 * videos of the model. Redrawn every second on a terminal; elsewhere only changes of the state are printed.
 */
export class VideoProgressLine {
  readonly #output: Output;
  readonly #typical: VideoDuration | undefined;
  readonly #startedAt: number;
  readonly #timer: NodeJS.Timeout | undefined;
  #video: Video | undefined;

  /** @param startedAt Unix milliseconds */
  constructor(output: Output, startedAt: number, typical: VideoDuration | undefined) {
    this.#output = output;
    this.#startedAt = startedAt;
    this.#typical = typical;
    if (output.isInteractive) this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  update(video: Video): void {
    this.#video = video;
    this.#draw();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#output.clearStatus();
  }

  #draw(): void {
    if (this.#video === undefined) return;
    const elapsed = Math.max(0, (Date.now() - this.#startedAt) / 1_000);
    this.#output.status(formatProgressLine(this.#video, elapsed, this.#typical), formatVideoStatus(this.#video));
  }
}

/** @param elapsed seconds since the request */
export function formatProgressLine(video: Video, elapsed: number, typical: VideoDuration | undefined): Rendering {
  const estimate = typical === undefined ? undefined : estimateTimeLeft(elapsed, typical);
  const percent = measuredPercent(video);
  const share = percent === undefined ? estimate?.share : percent / 100;
  const parts = [
    styled('active', formatVideoStatus(video)),
    ...(share === undefined ? [] : [formatProgressBar(share)]),
    formatElapsed(elapsed),
    ...(estimate === undefined ? [] : [styled('secondary', describeEstimate(estimate))]),
  ];
  return joinTexts(parts, '  ');
}

/** `1:05`, minutes and seconds. */
const formatElapsed = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;

function describeEstimate(estimate: ReturnType<typeof estimateTimeLeft>): string {
  if (estimate.kind === 'left') return `about ${formatDuration(estimate.seconds)} left`;
  return estimate.kind === 'almost' ? 'almost done' : 'slower than usual';
}

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
const measuredPercent = ({ status, progress }: VideoState): number | undefined =>
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

/**
 * Measured generation time of a model's videos; undefined without a sign-in or with too few finished videos. The figure
 * is optional, so a failure is not an error of the command.
 */
export async function findTypicalGenerationTime(
  context: Pick<CommandContext, 'reelgate' | 'signInKey' | 'credentialStore'>,
  model: string,
): Promise<VideoDuration | undefined> {
  if (!(await hasAccount(context))) return undefined;
  const durations = await context.reelgate.account.videoDurations().catch(() => []);
  return durations.find((each) => each.model === model);
}
