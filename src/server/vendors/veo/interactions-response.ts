import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import type { TaskStatus } from '../../../contract/task-states.ts';
import type { BufferedResponse } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/upstream.ts';
import type { Artifact, Json, QueryOutcome } from '../adapter-types.ts';
import {
  failedTask,
  readReason,
  rejectedPoll,
  successWithoutArtifact,
  UNKNOWN_FAILURE,
  unreadablePoll,
} from '../error-mapping.ts';
import { type BilledFacts, billedUnits } from '../parse-billed-units-and-seconds.ts';
import { classifyFailureWord, normaliseStateWord, readTaskState } from '../read-task-state.ts';
import { unwrapTask } from '../relay-answer.ts';
import { omitUndefined } from '../request-body.ts';
import { asArray, asText, asUrl, isSuccessStatus, toRawResponse } from '../untrusted-json.ts';
import { isRefusalText, parseGoogleError, refusalCause, toCode, toFailedOperation } from './google-errors.ts';
import { countNotFound, isStorageUri, type NotFoundCount, parseMissing } from './parse-long-running-operation.ts';
import type { VeoRoute } from './request.ts';

/** What is stored of an interaction. `missing` counts consecutive 404s. */
export interface InteractionHandle {
  readonly route: VeoRoute;
  readonly interaction: string;
  readonly missing?: NotFoundCount | undefined;
}

/** Undefined for the handle of an operation. */
export function parseInteractionHandle(handle: Json): InteractionHandle | undefined {
  const { route, interaction, missing } = asObject(handle) ?? {};
  const id = asText(interaction);
  if (id === undefined) return undefined;
  return { route: route === 'vertex' ? 'vertex' : 'gemini', interaction: id, missing: parseMissing(missing) };
}

export const toInteractionHandle = ({ route, interaction, missing }: InteractionHandle): Json =>
  omitUndefined({ route, interaction, missing: missing && { ...missing } });

/** Part of a URL's path, so none that begins with a dot. */
const INTERACTION_ID = /^\w[\w.=-]{0,254}$/;

export const asInteractionId = (value: unknown): string | undefined =>
  typeof value === 'string' && INTERACTION_ID.test(value) ? value : undefined;

/** `requires_action` waits for the result of a tool, and no tool is ever given: it would wait for ever. */
const STATES: Readonly<Record<string, TaskStatus>> = {
  incomplete: 'FAILURE',
  budget_exceeded: 'FAILURE',
  requires_action: 'FAILURE',
};

/** Without the envelope of a relay. */
export const interactionIn = (json: unknown): UntrustedObject | undefined => unwrapTask(json);

/** The steps the model wrote; undefined where the list is damaged. */
function outputSteps(interaction: UntrustedObject): readonly UntrustedObject[] | undefined {
  const steps = asArray(interaction.steps ?? []);
  return steps?.map(asObject).filter((step) => step !== undefined && step.type === 'model_output') as
    | readonly UntrustedObject[]
    | undefined;
}

const contentOf = (step: UntrustedObject): readonly UntrustedObject[] =>
  (asArray(step.content) ?? []).map(asObject).filter((block) => block !== undefined);

/** The last video of an interaction: in a step of its model, or beside the steps. */
export function findVideo(interaction: unknown): UntrustedObject | undefined {
  const whole = asObject(interaction);
  if (!whole) return undefined;
  const blocks = (outputSteps(whole) ?? []).flatMap(contentOf).filter(({ type }) => type === 'video');
  return blocks.at(-1) ?? asObject(whole.output_video);
}

function toArtifact(video: UntrustedObject): Artifact | undefined {
  if (asUrl(video.uri) !== undefined || isStorageUri(video.uri)) return { kind: 'protected' };
  return asText(video.data) === undefined ? undefined : { kind: 'inline' };
}

const textOf = (steps: readonly UntrustedObject[]): string =>
  steps
    .flatMap(contentOf)
    .map(({ type, text }) => (type === 'text' ? (asText(text) ?? '') : ''))
    .join(' ')
    .trim()
    .slice(0, 1_000);

/** What the vendor says in place of a video: an error of a step, the first error of the interaction, or the model's own words. */
function toFailure(
  interaction: UntrustedObject,
  steps: readonly UntrustedObject[],
  raw: Json,
  word: string,
): QueryOutcome {
  const broken = steps.map(({ error }) => asObject(error)).find((error) => error !== undefined);
  if (broken) return toFailedOperation(broken, raw);
  const told = readReason(asArray(interaction.errors)?.[0], interaction.error, interaction.fail_reason);
  const message = told.message ?? textOf(steps);
  const code = toCode(told.code) || normaliseStateWord(word).toUpperCase();
  if (isRefusalText(message))
    return failedTask(raw, { reason: 'policy', cause: refusalCause(message) ?? 'result_refused', code, message });
  const meaning = classifyFailureWord(word) ?? UNKNOWN_FAILURE;
  const cause = meaning.cause ?? (readTaskState(word) === 'SUCCESS' ? 'no_result' : undefined);
  return failedTask(raw, { ...meaning, cause, code, message });
}

function parseStatus(interaction: UntrustedObject, raw: Json): QueryOutcome {
  const word = asText(interaction.status) ?? '';
  const state = readTaskState(word, STATES);
  const steps = outputSteps(interaction);
  if (state !== 'SUCCESS' && state !== 'FAILURE') return { state, raw };
  if (!steps) return { state: 'UNKNOWN', raw };
  if (state === 'FAILURE') return toFailure(interaction, steps, raw, word);
  const video = findVideo(interaction);
  if (video) {
    const artifact = toArtifact(video);
    // Damaged data in place of the video does not mean that there is none.
    return artifact ? { state: 'SUCCESS', artifact, raw } : { state: 'UNKNOWN', raw };
  }
  const errors = [interaction.errors ?? [], interaction.error ?? []].flat();
  const isExplained = textOf(steps) !== '' || errors.length > 0 || steps.some(({ error }) => error);
  return isExplained ? toFailure(interaction, steps, raw, word) : successWithoutArtifact(raw);
}

const markBase64 = (block: unknown): unknown => {
  const content = asObject(block);
  if (typeof content?.data !== 'string') return block;
  return { ...content, data: `[${content.data.length} characters of Base64]` };
};

/** Pictures and videos inside the steps are replaced by a marker, since a task's row must not hold megabytes. */
function redactMedia(reply: BufferedResponse): Json {
  const interaction = interactionIn(reply.json);
  if (!interaction) return toRawResponse(reply);
  const marked = asArray(interaction.steps)?.map((entry) => {
    const step = asObject(entry);
    const content = asArray(step?.content);
    return step && content ? { ...step, content: content.map(markBase64) } : entry;
  });
  const { output_video: video } = interaction;
  return defined({ ...interaction, steps: marked ?? interaction.steps, output_video: markBase64(video) }) as Json;
}

/** Reads the response to one poll of an interaction. @throws PollFailed */
export function parseInteraction(
  reply: BufferedResponse,
  handle: InteractionHandle,
  context: Pick<AdapterContext, 'now'>,
): QueryOutcome {
  const raw = redactMedia(reply);
  if (!isSuccessStatus(reply)) {
    const error = parseGoogleError(reply, context.now(), 'missing');
    if (error.reason !== 'missing' || error.code !== 'NOT_FOUND') throw rejectedPoll(error);
    return countNotFound(handle.missing, {
      error,
      raw,
      nowMs: context.now(),
      toHandle: (missing) => toInteractionHandle({ ...handle, missing }),
    });
  }
  const interaction = interactionIn(reply.json);
  if (interaction?.id !== handle.interaction) throw unreadablePoll(reply);
  const outcome = parseStatus(interaction, raw);
  const { route, interaction: id } = handle;
  return handle.missing ? { handle: toInteractionHandle({ route, interaction: id }), ...outcome } : outcome;
}

/** Tokens of video in the usage of an interaction, by which it is billed. */
export function billedVideoTokens(raw: Json): BilledFacts | undefined {
  const usage = asObject(asObject(raw)?.usage);
  const counts = (asArray(usage?.output_tokens_by_modality) ?? []).map(asObject);
  const video = counts.find((count) => asText(count?.modality)?.toLowerCase() === 'video');
  return billedUnits(video?.tokens, video?.token_count, video?.tokenCount);
}
