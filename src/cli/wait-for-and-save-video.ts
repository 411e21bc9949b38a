import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FAILURES_EN } from '../contract/messages/failures-en.ts';
import { ReelgateError } from '../sdk/errors.ts';
import type { Video } from '../sdk/index.ts';
import type { CommandContext } from './command-context.ts';
import { hasAccount } from './credential-provider.ts';
import { download } from './download-video.ts';
import { UsageError, VideoFailedError } from './errors.ts';
import { findTypicalGenerationTime } from './find-typical-generation-time.ts';
import { formatBytes, formatDuration } from './format-times-and-sizes.ts';
import { InterruptedError } from './interrupt.ts';
import { loadCreditFormat } from './load-credit-format.ts';
import { resumeHint } from './to-error-report.ts';
import { VideoProgressLine } from './video-progress-line.ts';
import type { WaitOptions } from './wait-options.ts';

/** Waits until a video is done, prints what it cost and saves it where `--out` says. @param model empty: not known */
export async function waitForVideo(
  context: CommandContext,
  id: string,
  model: string,
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
    const hint = `Done. Download it with "reelgate video download ${id} --out ${id}.mp4".`;
    return output.result(result, done.metadata?.url ?? hint);
  }
  const bytes = await downloadTo(context, id, options.out);
  output.result({ ...result, file: options.out, bytes }, `Saved ${options.out} (${formatBytes(bytes)}).`);
}

/** @throws VideoFailedError, InterruptedError, and whatever ends the wait while the video is under way */
async function followVideo(context: CommandContext, id: string, model: string, options: WaitOptions): Promise<Video> {
  const { reelgate, output, interruptSignal: signal } = context;
  const first = model === '' ? await findOwnVideo(context, id) : undefined;
  const typical = await findTypicalGenerationTime(context, model || (first?.model ?? ''));
  if (typical !== undefined)
    output.info(
      `Videos of this model usually take ${formatDuration(typical.p50_seconds)}; nine of ten take at most ${formatDuration(typical.p90_seconds)}.`,
    );
  const line = new VideoProgressLine(output, first === undefined ? Date.now() : first.submit_time * 1_000, typical);
  try {
    return await reelgate.videos.wait(id, {
      signal,
      timeoutMs: options.timeout * 1000,
      intervalMs: options.every && options.every * 1000,
      onProgress: (video) => line.update(video),
      onPollError: ({ message }) => output.status(`${message} The task continues; polling again …`),
    });
  } catch (error) {
    line.stop();
    if (signal.aborted) {
      output.info(resumeHint(id));
      throw new InterruptedError(id);
    }
    throw error instanceof ReelgateError && error.code === 'task_failed'
      ? await explainFailure(context, id, error)
      : error;
  } finally {
    line.stop();
  }
}

/** The account's own view of a video, which knows its model and why it failed; undefined without a sign-in. */
const findOwnVideo = async (context: CommandContext, id: string) =>
  (await hasAccount(context)) ? context.reelgate.account.video(id).catch(() => undefined) : undefined;

/** Says in our words why a video failed and what to do, that it was not charged, and last what the vendor said. */
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

/** What a finished video cost; undefined where its receipt cannot be read, which is no error of the command. */
async function findCost({ reelgate }: CommandContext, id: string) {
  try {
    const { charged } = await reelgate.videos.receipt(id);
    return { quota: charged, text: (await loadCreditFormat(reelgate))(charged) };
  } catch (error) {
    if (error instanceof ReelgateError) return undefined;
    throw error;
  }
}

/** Saves the file of a finished video and returns its size in bytes. */
export async function downloadTo(
  { reelgate, output, interruptSignal }: CommandContext,
  id: string,
  out: string,
): Promise<number> {
  const bytes = await download(reelgate, id, out, {
    signal: interruptSignal,
    onProgress: (received, total) =>
      output.status(
        `downloading ${formatBytes(received)}${total === undefined ? '' : ` of ${formatBytes(total)}`}`,
        'downloading',
      ),
  });
  output.clearStatus();
  return bytes;
}

/** Checked before anything is charged: the file can be written, and no other file is overwritten. */
export async function assertWritable({
  out,
  force,
}: {
  readonly out?: string;
  readonly force?: boolean;
}): Promise<void> {
  if (out === undefined) return;
  const found = await stat(out).catch(() => undefined);
  if (found?.isDirectory() === true) throw new UsageError(`${out} is a folder. Name a file in it.`);
  if (found !== undefined && force !== true) throw new UsageError(`${out} exists. Replace it with --force.`);
  await access(dirname(out), constants.W_OK);
}
