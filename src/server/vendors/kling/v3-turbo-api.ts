import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import {
  type BilledFacts,
  billedUnits,
  type Json,
  type QueryOutcome,
  type RequestJson,
  rejectField,
  toUrlOrBase64,
  type VideoRequest,
} from '../adapter.ts';
import {
  applyExtraFields,
  type ErrorClass,
  failedTask,
  omitUndefined,
  type RequestBody,
  readReason,
  successWithoutArtifact,
  toRawResponse,
  unreadablePoll,
} from '../json-calls.ts';
import { asArray, asText, asUrl, isForeignId, ownEntry, readTaskState } from '../untrusted-json.ts';
import { assertImageSize, parseMetadata, toRatio } from './request.ts';

/**
 * Kling 3.0 Turbo, which only the vendor's newer API serves (kling.ai/document-api, "3.0 Turbo"): the model is part of
 * the path, tasks are polled at `/tasks`, and an API key is required where the older models also accept a pair of keys.
 */

const PATH_NAMES: Readonly<Record<string, string>> = { 'kling-v3-turbo': 'kling-3.0-turbo' };
/** Resolutions that correspond to the modes of the other models. */
const RESOLUTIONS: Readonly<Record<string, string>> = { std: '720p', pro: '1080p' };

/** Keys of the metadata that the newer API takes or refuses; it has no others. */
export const TURBO_KEYS: readonly string[] = ['aspect_ratio', 'sound', 'negative_prompt', 'image_tail'];

/** Whether the newer API serves a model. */
export const isTurbo = (model: string): boolean => Object.hasOwn(PATH_NAMES, model);

/** Path of a submit, below the base URL. */
export const turboPath = ({ model, images }: VideoRequest): string =>
  `/${images.length === 0 ? 'text' : 'image'}-to-video/${PATH_NAMES[model] ?? model}`;

/** Path of a poll. */
export const turboTaskPath = (id: string): string => `/tasks?task_ids=${encodeURIComponent(id)}`;
/** Path of a search by our task id. */
export const turboSearchPath = (taskId: string): string => `/tasks?external_task_ids=${encodeURIComponent(taskId)}`;

/** The body of a submit to the newer API. */
export function toTurboBody(request: VideoRequest): RequestBody {
  const { mode = 'std', seconds = 5, size, images, prompt, taskId } = request;
  if (request.officialOperation !== undefined)
    rejectField('model_name', `must be another model: ${request.officialOperation} does not have ${request.model}`);
  const resolution = ownEntry(RESOLUTIONS, mode) ?? rejectField('mode', 'must be std or pro');
  const { aspect_ratio: ratio, sound, negative_prompt: negative, image_tail: tail } = parseMetadata(request.metadata);
  if (sound === false || sound === 'off') rejectField('metadata.sound', `is always on for ${request.model}`);
  if (negative !== undefined) rejectField('metadata.negative_prompt', `belongs into the prompt of ${request.model}`);
  const [first] = images;
  if (images.length > 1) rejectField('images', 'may hold one image for this model: the first frame');
  if (tail !== undefined) rejectField('metadata.image_tail', `is not a field of ${request.model}`);
  if (first && ratio !== undefined)
    rejectField('metadata.aspect_ratio', `cannot be given for ${request.model} with these inputs`);
  if (first) assertImageSize(first);
  const asked = size === undefined ? undefined : toRatio(size);
  const settings = omitUndefined({
    resolution,
    duration: seconds,
    // An image determines the ratio.
    aspect_ratio: first ? undefined : (ratio ?? asked),
  });
  const contents: RequestJson[] | undefined = first && [
    { type: 'prompt', text: prompt },
    { type: 'first_frame', url: toUrlOrBase64(first) },
  ];
  const body = omitUndefined({ prompt: first ? undefined : prompt, contents, settings });
  return { ...applyExtraFields(body, request.extraFields), options: { external_task_id: taskId } };
}

/** The only task in a response of `/tasks`, which may contain many. */
export const onlyTask = (json: unknown): UntrustedObject | undefined => asObject(asArray(asObject(json)?.data)?.[0]);

/** The first video with a URL, otherwise the first one. */
function videoOf(task: UntrustedObject | undefined): UntrustedObject | undefined {
  const videos = (asArray(task?.outputs) ?? []).map(asObject).filter((output) => output?.type === 'video');
  return videos.find((video) => asUrl(video?.url) !== undefined) ?? videos[0];
}

/** The video in a task's last response. */
export const turboVideo = (raw: Json): UntrustedObject | undefined => videoOf(onlyTask(raw));

/**
 * Parses the response to a poll.
 * @param classify Maps the vendor's words for a failure to its class.
 * @throws PollFailed for damaged responses
 */
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

/** Units of resource packs; a job paid with money has none. */
export function turboUnits(raw: Json): BilledFacts | undefined {
  const entries = (asArray(onlyTask(raw)?.billing) ?? []).map(asObject);
  const units = entries.filter((entry) => entry?.charge_type === 'unit').map((entry) => Number(entry?.amount));
  return billedUnits(units.reduce((sum, amount) => sum + amount, 0));
}
