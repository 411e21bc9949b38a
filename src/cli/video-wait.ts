import { FAILURES_EN } from '../contract/messages/failures-en.ts';
import { COARSE_PROGRESS } from '../contract/task-states.ts';
import { ReelgateError } from '../sdk/errors.ts';
import { estimateTimeLeft } from '../sdk/estimate-time-left.ts';
import type { StartedVideo, Video, VideoDuration } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';
import { loadCreditFormat } from './credit-format.ts';
import { resumeHint } from './error-report.ts';
import { InterruptedError, VideoFailedError } from './errors.ts';
import type { WaitOptions } from './generation-options.ts';
import {
  formatBytes,
  formatDuration,
  formatProgressBar,
  joinTexts,
  type Output,
  PLAIN,
  phrase,
  type Rendering,
  render,
  styled,
  word,
} from './output.ts';

/** Imported when a file is saved, because printing help does not need it. */
const importDownload = () => import('./video-download.ts');

/** Starts a video. After Ctrl-C it is not known whether the request has arrived. */
export function startVideo(
  { output, interruptSignal }: CommandContext,
  start: () => Promise<StartedVideo>,
): Promise<StartedVideo> {
  return start().catch((error: unknown) => {
    if (interruptSignal.aborted) output.notice('The video may have been started: see "reelgate video list".');
    throw error;
  });
}

/** Starts a video, unless its file could not be written, and waits for it. */
export async function generateVideo(
  context: CommandContext,
  model: string | undefined,
  options: WaitOptions,
  start: () => Promise<StartedVideo>,
): Promise<void> {
  const { assertWritable } = await importDownload();
  await assertWritable(options);
  const { id } = await startVideo(context, start);
  context.output.info(phrase`Task ${id}`);
  await finishVideo(context, id, model, options).catch((error: unknown) => {
    // The video outlives the command whatever ended that, such as a full disk.
    throw error instanceof Error ? Object.assign(error, { taskId: id }) : error;
  });
}

/** Waits for a video that was started before, unless its file could not be written. */
export async function waitForVideo(context: CommandContext, id: string, options: WaitOptions): Promise<void> {
  const { assertWritable } = await importDownload();
  await assertWritable(options);
  await finishVideo(context, id, undefined, options);
}

/** Waits until a video is finished, prints its cost and saves it to the path of `--out`. */
async function finishVideo(
  context: CommandContext,
  id: string,
  model: string | undefined,
  options: WaitOptions,
): Promise<void> {
  const { output } = context;
  const startedAt = Date.now();
  const done = await followVideo(context, id, model, options);
  const cost = await findCost(context, id);
  if (cost !== undefined) {
    const took = formatDuration(Math.max(1, Math.round((Date.now() - startedAt) / 1_000)));
    output.info(`It cost ${cost.text}; you waited ${took}.`);
  }
  const result = cost === undefined ? done : { ...done, quota: cost.quota };
  if (options.out === undefined) {
    const hint = `Done. Download it with "reelgate video download ${id}".`;
    return output.result(result, done.metadata?.url ?? hint);
  }
  const { downloadTo } = await importDownload();
  const { bytes } = await downloadTo(context, id, { out: options.out });
  output.result({ ...result, file: options.out, bytes }, `Saved ${options.out} (${formatBytes(bytes)}).`);
}

/** @throws VideoFailedError, InterruptedError, or the error that ended the wait while the video is unfinished */
async function followVideo(
  context: CommandContext,
  id: string,
  model: string | undefined,
  options: WaitOptions,
): Promise<Video> {
  const { reelgate, output, interruptSignal: signal } = context;
  const first = model === undefined ? await findOwnVideo(context, id) : undefined;
  const typical = await findTypicalGenerationTime(context, model ?? first?.model);
  if (typical !== undefined)
    output.info(
      `Videos of this model usually take ${formatDuration(typical.p50_seconds)}; nine of ten take at most ${formatDuration(typical.p90_seconds)}.`,
    );
  const line = new VideoProgressLine(output, first === undefined ? Date.now() : first.submit_time * 1_000, typical);
  const wait = reelgate.videos.wait(id, {
    signal,
    timeoutMs: options.timeout * 1000,
    intervalMs: options.every && options.every * 1000,
    onProgress: (video) => line.update(video),
    onPollError: ({ message }) => output.status(`${message} The task continues; polling again …`),
  });
  try {
    return await wait.finally(() => line.stop());
  } catch (error) {
    if (signal.aborted) {
      output.info(resumeHint(id));
      throw new InterruptedError(id);
    }
    throw error instanceof ReelgateError && error.code === 'task_failed'
      ? await explainFailure(context, id, error)
      : error;
  }
}

/** The account's view of a video, which includes its model and the reason of a failure; undefined without a sign-in. */
const findOwnVideo = async (context: CommandContext, id: string) =>
  (await hasAccount(context)) ? context.reelgate.account.video(id).catch(() => undefined) : undefined;

/**
 * Explains a failed video: the reason in common terms and advice, that nothing was charged, and finally the vendor's
 * message.
 */
async function explainFailure(context: CommandContext, id: string, error: ReelgateError): Promise<VideoFailedError> {
  const own = await findOwnVideo(context, id);
  const cost = await findCost(context, id);
  const known = own === undefined ? undefined : FAILURES_EN[own.fail_cause || 'unknown'];
  const advice = [
    known?.advice,
    cost?.quota === 0 ? 'It was not charged.' : undefined,
    known === undefined ? undefined : `The vendor's message: ${error.message}`,
  ];
  return new VideoFailedError(known?.text ?? error.message, id, advice.filter((each) => each !== undefined).join('\n'));
}

/** Cost of a finished video; undefined if its receipt cannot be read, which does not fail the command. */
async function findCost({ reelgate }: CommandContext, id: string) {
  try {
    const { charged } = await reelgate.videos.receipt(id);
    return { quota: charged, text: (await loadCreditFormat(reelgate))(charged) };
  } catch (error) {
    if (error instanceof ReelgateError) return undefined;
    throw error;
  }
}

const REDRAW_MS = 1_000;

/**
 * Status line of an unfinished video: state, bar, time since the request, and remaining time estimated from finished
 * videos of the model. Redrawn every second on a terminal; elsewhere only changes of the state are printed.
 */
class VideoProgressLine {
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
    this.#output.status(
      formatProgressLine(this.#video, elapsed, this.#typical),
      render(formatVideoStatus(this.#video), PLAIN),
    );
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

function describeEstimate(estimate: ReturnType<typeof estimateTimeLeft>): Rendering {
  if (estimate.kind === 'left') return phrase`about ${formatDuration(estimate.seconds)} left`;
  return word(estimate.kind === 'almost' ? 'almost done' : 'slower than usual');
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
export function formatVideoStatus(video: VideoState): Rendering {
  const percent = measuredPercent(video);
  const state = word(video.status.replace('_', ' '));
  if (video.queue !== undefined) return phrase`${state}, number ${video.queue.position}, ${formatStart(video.queue)}`;
  return percent === undefined ? state : joinTexts([state, `${percent}%`], ' ');
}

/** `starts in 2–5 min` */
function formatStart({ starts_in_seconds: { p50, p90 } }: NonNullable<VideoState['queue']>): Rendering {
  if (p90 < 60) return word('starts within a minute');
  const [from, to] = [Math.max(1, Math.round(p50 / 60)), Math.ceil(p90 / 60)];
  return phrase`starts in ${from === to ? from : `${from}–${to}`} min`;
}

/**
 * Measured generation time of a model's videos; undefined without a sign-in or with too few finished videos. The figure
 * is optional, so a failure is not an error of the command.
 */
export async function findTypicalGenerationTime(
  context: CommandContext,
  model: string | undefined,
): Promise<VideoDuration | undefined> {
  if (model === undefined || !(await hasAccount(context))) return undefined;
  const durations = await context.reelgate.account.videoDurations().catch(() => []);
  return durations.find((each) => each.model === model);
}
