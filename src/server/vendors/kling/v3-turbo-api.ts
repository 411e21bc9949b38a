import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { Json, QueryOutcome, VideoRequest } from '../adapter-types.ts';
import { type ErrorClass, failedTask, readReason, successWithoutArtifact, unreadablePoll } from '../error-mapping.ts';
import { toUrlOrBase64 } from '../media-to-base64-or-url.ts';
import { type BilledFacts, billedUnits } from '../parse-billed-units-and-seconds.ts';
import { rejectField } from '../parse-seconds-ratio-and-price-factors.ts';
import { readTaskState } from '../read-task-state.ts';
import { applyExtraFields, omitUndefined, type RequestBody } from '../request-body.ts';
import { asArray, asText, asUrl, isForeignId, ownEntry, toRawResponse } from '../untrusted-json.ts';
import { assertImageSize, parseMetadata, toRatio } from './request.ts';

/**
 * Kling 3.0 Turbo, which the vendor's newer API alone has (kling.ai/document-api, "3.0 Turbo"): the model is part of the path, tasks are
 * polled at `/tasks`, and an API key is needed where the older models take a pair of keys too.
 */

const PATH_NAMES: Readonly<Record<string, string>> = { 'kling-v3-turbo': 'kling-3.0-turbo' };
/** What the modes of the other models are called here. */
const RESOLUTIONS: Readonly<Record<string, string>> = { std: '720p', pro: '1080p' };

export const isTurbo = (model: string): boolean => Object.hasOwn(PATH_NAMES, model);

/** Below the base URL. */
export const turboPath = ({ model, images }: VideoRequest): string =>
  `/${images.length === 0 ? 'text' : 'image'}-to-video/${PATH_NAMES[model] ?? model}`;

export const turboTaskPath = (id: string): string => `/tasks?task_ids=${encodeURIComponent(id)}`;
export const turboSearchPath = (taskId: string): string => `/tasks?external_task_ids=${encodeURIComponent(taskId)}`;

export function toTurboBody(request: VideoRequest): RequestBody {
  const { mode = 'std', seconds = 5, size, images, prompt, taskId } = request;
  if (request.officialOperation !== undefined)
    rejectField('model_name', `must be another model: ${request.officialOperation} does not have ${request.model}`);
  const resolution = ownEntry(RESOLUTIONS, mode) ?? rejectField('mode', 'must be std or pro');
  const { aspect_ratio: ratio, sound, negative_prompt: negative, image_tail: tail } = parseMetadata(request.metadata);
  if (sound === false || sound === 'off') rejectField('metadata.sound', `is always on for ${request.model}`);
  if (negative !== undefined) rejectField('metadata.negative_prompt', `belongs into the prompt of ${request.model}`);
  const [first] = images;
  if (images.length > 1 || tail !== undefined)
    rejectField('images', 'may hold one picture for this model: the first frame');
  if (first) assertImageSize(first);
  const settings = omitUndefined({
    resolution,
    duration: seconds,
    // A picture has a ratio of its own.
    aspect_ratio: first ? undefined : (ratio ?? (size === undefined ? undefined : toRatio(size))),
  });
  const contents = first && [
    { type: 'prompt', text: prompt },
    { type: 'first_frame', url: toUrlOrBase64(first) },
  ];
  const body = omitUndefined({ prompt: first ? undefined : prompt, contents, settings });
  return { ...applyExtraFields(body, request.extraFields), options: { external_task_id: taskId } };
}

/** The only task of an answer of `/tasks`, which may hold many. */
export const onlyTask = (json: unknown): UntrustedObject | undefined => asObject(asArray(asObject(json)?.data)?.[0]);

/** The first video with an address, else the first one. */
function videoOf(task: UntrustedObject | undefined): UntrustedObject | undefined {
  const videos = (asArray(task?.outputs) ?? []).map(asObject).filter((output) => output?.type === 'video');
  return videos.find((video) => asUrl(video?.url) !== undefined) ?? videos[0];
}

/** The video of a task's last answer. */
export const turboVideo = (raw: Json): UntrustedObject | undefined => videoOf(onlyTask(raw));

/** @param classify Reads the vendor's words for a failure. @throws PollFailed for damaged answers */
export function toTurboOutcome(
  response: BufferedResponse,
  id: string,
  classify: (message: string, word: unknown) => ErrorClass,
): QueryOutcome {
  const task = onlyTask(response.json);
  if (!task || asText(task.status) === undefined || isForeignId(task.id, id)) throw unreadablePoll(response);
  const raw = toRawResponse(response);
  const state = readTaskState(task.status);
  if (state === 'FAILURE') {
    const { message } = readReason(task.message, task.error, task);
    return failedTask(raw, { ...classify(message ?? '', task.status), message });
  }
  if (state !== 'SUCCESS') return { state, raw };
  const url = asUrl(videoOf(task)?.url);
  if (url !== undefined) return { state, artifact: { kind: 'url', url }, raw };
  const outputs = asArray(task.outputs ?? []);
  if (outputs?.length !== 0 && (videoOf(task)?.url ?? '') !== '') throw unreadablePoll(response);
  return successWithoutArtifact(raw);
}

/** Units of resource packs; a job paid in money has none. */
export function turboUnits(raw: Json): BilledFacts | undefined {
  const entries = (asArray(onlyTask(raw)?.billing) ?? []).map(asObject);
  const units = entries.filter((entry) => entry?.charge_type === 'unit').map((entry) => Number(entry?.amount));
  return billedUnits(units.reduce((sum, amount) => sum + amount, 0));
}
