import { estimateTimeLeft } from '../sdk/estimate-time-left.ts';
import type { Video, VideoDuration } from '../sdk/index.ts';
import { formatDuration, formatProgressBar, joinTexts, type Output, type Rendering, styled } from './output.ts';
import { formatVideoStatus, measuredPercent } from './video-status.ts';

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
